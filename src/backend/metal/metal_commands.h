// The launches of a segment, ready to be encoded again and again: pipelines made, operands resolved to buffers and
// offsets, barriers set, and cut into command buffers.
//
// Launches of one command buffer go through one encoder that lets them overlap; a barrier stands before each that
// touches what an earlier one writes, or writes what one touches.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/metal/metal_api.h"
#include "backend/metal/metal_kernels.h"
#include "backend/metal/metal_memory.h"

namespace chiaro {

struct MetalStep {
  MTL::ComputePipelineState* pipeline = nullptr;  // of MetalKernels
  uint32_t first_binding = 0, bindings = 0;       // slots 0..bindings-1
  uint32_t first_arg = 0, arg_bytes = 0;          // at slot `bindings`; none where there are no bytes
  GpuSize groups;
  uint32_t threads = 0;
  uint32_t launch = 0;  // of the segment
  bool barrier = false;
  double seconds = 0;  // predicted
};

// Immutable once made.
struct MetalCommands {
  std::vector<MetalStep> steps;
  std::vector<MetalPlace> bindings;
  std::vector<std::byte> args;
  std::vector<std::string> labels;    // of launches: "unet.mid (its op)"
  std::vector<uint32_t> cuts;         // first step of each command buffer
  std::vector<uint32_t> launch_cuts;  // the same with a command buffer for each launch, for profiles
};

struct MetalCutting {
  double seconds = 0.1;   // a command buffer is to take at most so long, as predicted: well within the watchdog's time,
                          // and soon enough done for a cancel
  uint32_t steps = 1024;  // and to have at most so many launches
};

// Every launch was checked to lie in memory of this device. `unused` is bound where a kernel touches nothing.
// Errors: as MetalKernels::pipeline and MetalBuffer::place; internal where an operand lies outside its buffer.
Result<MetalCommands> prepare_commands(std::span<const Launch> launches, MetalKernels& kernels,
                                       const gpu::Traits& traits, MTL::Buffer& unused, const MetalCutting& cutting);

// Steps [first, end) into the encoder.
void encode_commands(MTL::ComputeCommandEncoder& encoder, const MetalCommands& commands, size_t first, size_t end);

}  // namespace chiaro
