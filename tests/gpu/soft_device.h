// A device of the software GPU for tests of kernels: memory that knows what was written, and nothing that shields a
// kernel from its mistakes.
#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "gpu/profile.h"
#include "ops/gpu_soft_run.h"

namespace chiaro {

struct SoftTestBuffer final : Buffer {
  SoftTestBuffer(const Device& device, int64_t size)
      : device_(device), memory(static_cast<size_t>(size) + 64), init(size) {
    start = memory.data();
    while (reinterpret_cast<uintptr_t>(start) % 64 != 0) ++start;
    bytes_ = size;
    std::memset(start, 0xFF, static_cast<size_t>(size));
  }
  const Device& owner() const override { return device_; }
  int64_t bytes() const override { return bytes_; }
  std::byte* address() const override { return start; }

  const Device& device_;
  std::vector<std::byte> memory;
  InitMap init;
  std::byte* start;
  int64_t bytes_;
};

struct SoftTestSegment final : CompiledSegment {
  std::vector<Launch> launches;
  Status result;
};

class SoftTestDevice final : public Device {
 public:
  SoftTestDevice(const gpu::Profile& profile, ThreadPool& pool, bool checks = true)
      : traits_(gpu_device_traits("softgpu:" + profile.name, "softgpu", profile.traits)),
        gpu_(gpu_soft_kernels(), profile.traits, pool),
        kernels_(gpu_kernel_table()) {
    options.checks = checks;
  }
  const DeviceTraits& traits() const override { return traits_; }
  std::span<const Kernel> kernels(std::string_view op) const override {
    for (const Kernels& candidates : kernels_) {
      if (candidates.front().op == op) return candidates;
    }
    return {};
  }
  Result<std::unique_ptr<Buffer>> allocate(int64_t bytes, std::string_view) override {
    return std::unique_ptr<Buffer>(std::make_unique<SoftTestBuffer>(*this, bytes));
  }
  // Bytes of 0xFF mean "nothing": the conformance suite fills gaps, results and scratch with them.
  Status upload(Buffer& to, int64_t offset, std::span<const std::byte> from) override {
    if (from.empty()) return {};
    std::memcpy(to.address() + offset, from.data(), from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      static_cast<SoftTestBuffer&>(to).init.mark(offset + static_cast<int64_t>(i), 1, from[i] != std::byte{0xFF});
    }
    return {};
  }
  Status download(std::span<std::byte> to, const Buffer& from, int64_t offset) override {
    if (!to.empty()) std::memcpy(to.data(), from.address() + offset, to.size());
    return {};
  }
  Result<std::unique_ptr<CompiledSegment>> compile(std::vector<Launch> launches) override {
    auto segment = std::make_unique<SoftTestSegment>();
    segment->launches = std::move(launches);
    return std::unique_ptr<CompiledSegment>(std::move(segment));
  }
  Status submit(CompiledSegment& segment, const std::atomic<bool>*, const LaunchTimer&) override {
    auto& own = static_cast<SoftTestSegment&>(segment);
    for (const Launch& launch : own.launches) {
      SoftGpuRun run;
      run.gpu = &gpu_;
      run.options = options;
      // Only results and scratch are watched for reads before writes: an input's element may be 0xFF bytes by right.
      for (const BufferRef& in : launch.inputs) run.inputs.push_back(operand(in, false));
      run.output = operand(launch.output, true);
      run.scratch = operand(launch.scratch, true);
      own.result = launch.plan->run(run);
      if (!own.result.ok()) return {};
      counts.insert(counts.end(), run.counts.begin(), run.counts.end());
    }
    return {};
  }
  Status wait(CompiledSegment& segment) override {
    return std::exchange(static_cast<SoftTestSegment&>(segment).result, Status{});
  }

  SoftOptions options;
  std::vector<SoftCounts> counts;

 private:
  static SoftOperand operand(const BufferRef& ref, bool watched) {
    if (!ref) return {};
    auto& buffer = static_cast<SoftTestBuffer&>(*ref.buffer);
    return {ref.address(), buffer.bytes() - ref.offset, watched ? &buffer.init : nullptr, ref.offset};
  }
  DeviceTraits traits_;
  SoftGpu gpu_;
  KernelTable kernels_;
};

}  // namespace chiaro
