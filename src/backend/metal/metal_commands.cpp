#include "backend/metal/metal_commands.h"

#include <algorithm>
#include <array>

#include "backend/metal/metal_hazards.h"

namespace chiaro {
namespace {

// Writes down what the launches do.
class Recorder final : public GpuRun {
 public:
  Recorder(MetalCommands& out, MetalKernels& kernels, const gpu::Traits& traits, MTL::Buffer& unused)
      : out_(out), kernels_(kernels), traits_(traits), unused_(unused) {}

  void begin(const Launch& launch) {
    launch_ = &launch;
    const std::string op = launch.op != nullptr ? std::string(launch.op->name) : "a kernel";
    out_.labels.push_back(std::string(launch.label) + " (" + op + ")");
  }

  Status dispatch(const GpuDispatch& dispatch) override {
    MetalStep step;
    CHIARO_ASSIGN(step.pipeline, kernels_.pipeline(dispatch));
    step.first_binding = static_cast<uint32_t>(out_.bindings.size());
    step.bindings = static_cast<uint32_t>(dispatch.buffers.size());
    accesses_.clear();
    for (const GpuOperand& operand : dispatch.buffers) {
      CHIARO_ASSIGN(const MetalPlace place, bound(dispatch, operand));
      out_.bindings.push_back(place);
    }
    step.first_arg = static_cast<uint32_t>(out_.args.size());
    step.arg_bytes = static_cast<uint32_t>(dispatch.args.size());
    out_.args.insert(out_.args.end(), dispatch.args.begin(), dispatch.args.end());
    step.groups = dispatch.groups;
    step.threads = dispatch.threads;
    step.launch = static_cast<uint32_t>(out_.labels.size() - 1);
    step.barrier = hazards_.next(accesses_);
    step.seconds = predicted_seconds(dispatch, traits_);
    out_.steps.push_back(step);
    return {};
  }

 private:
  Result<MetalPlace> bound(const GpuDispatch& dispatch, const GpuOperand& operand) {
    const BufferRef ref = operand_of(operand);
    if (!ref || operand.bytes == 0 || ref.buffer->bytes() == 0) return MetalPlace{&unused_, 0};
    const int64_t begin = ref.offset + operand.offset, end = begin + operand.bytes;
    if (begin < 0 || end > ref.buffer->bytes()) {
      return Error{ErrorCode::internal, "kernel " + std::string(dispatch.kernel) + " is given too little memory",
                   "it touches bytes " + std::to_string(begin) + " to " + std::to_string(end) + " of " +
                       std::to_string(ref.buffer->bytes()),
                   "", ""};
    }
    accesses_.push_back({ref.buffer, begin, end, operand.kind != GpuOperand::Kind::input});
    return static_cast<MetalBuffer*>(ref.buffer)->place(begin, operand.bytes);
  }

  BufferRef operand_of(const GpuOperand& operand) const {
    switch (operand.kind) {
      case GpuOperand::Kind::input: return launch_->inputs[static_cast<size_t>(operand.index)];
      case GpuOperand::Kind::output: return launch_->output;
      case GpuOperand::Kind::scratch: return launch_->scratch;
      case GpuOperand::Kind::none: break;
    }
    return {};
  }

  MetalCommands& out_;
  MetalKernels& kernels_;
  const gpu::Traits& traits_;
  MTL::Buffer& unused_;
  const Launch* launch_ = nullptr;
  std::vector<MetalAccess> accesses_;
  MetalHazards hazards_;
};

void cut(MetalCommands& commands, const MetalCutting& cutting) {
  double seconds = 0;
  for (uint32_t i = 0; i < commands.steps.size(); ++i) {
    const MetalStep& step = commands.steps[i];
    if (i == 0 || step.launch != commands.steps[i - 1].launch) commands.launch_cuts.push_back(i);
    const bool full = i > 0 && (seconds + step.seconds > cutting.seconds || i - commands.cuts.back() >= cutting.steps);
    if (i == 0 || full) {
      commands.cuts.push_back(i);
      seconds = 0;
    }
    seconds += step.seconds;
  }
}

}  // namespace

Result<MetalCommands> prepare_commands(std::span<const Launch> launches, MetalKernels& kernels,
                                       const gpu::Traits& traits, MTL::Buffer& unused, const MetalCutting& cutting) {
  MetalCommands commands;
  Recorder recorder(commands, kernels, traits, unused);
  for (const Launch& launch : launches) {
    recorder.begin(launch);
    if (auto status = launch.plan->run(recorder); !status.ok()) {
      Error error = std::move(status).error();
      return launch.op != nullptr ? std::move(error).at(launch.op->name).at(launch.label) : error;
    }
  }
  cut(commands, cutting);
  return commands;
}

void encode_commands(MTL::ComputeCommandEncoder& encoder, const MetalCommands& commands, size_t first, size_t end) {
  std::array<MetalPlace, kMostGpuBuffers> bound{};
  const MTL::ComputePipelineState* pipeline = nullptr;
  for (size_t i = first; i < end; ++i) {
    const MetalStep& step = commands.steps[i];
    if (step.barrier && i > first) encoder.memoryBarrier(MTL::BarrierScopeBuffers);
    if (step.pipeline != pipeline) {
      encoder.setComputePipelineState(step.pipeline);
      pipeline = step.pipeline;
    }
    for (uint32_t slot = 0; slot < step.bindings; ++slot) {
      const MetalPlace& place = commands.bindings[step.first_binding + slot];
      if (bound[slot].buffer == place.buffer && bound[slot].offset == place.offset) continue;
      encoder.setBuffer(place.buffer, place.offset, slot);
      bound[slot] = place;
    }
    if (step.arg_bytes > 0) {
      encoder.setBytes(commands.args.data() + step.first_arg, step.arg_bytes, step.bindings);
      if (step.bindings < bound.size()) bound[step.bindings] = {};
    }
    encoder.dispatchThreadgroups(MTL::Size(step.groups.x, step.groups.y, step.groups.z), MTL::Size(step.threads, 1, 1));
  }
}

}  // namespace chiaro
