#include "gpu/dispatch.h"

#include <algorithm>

namespace chiaro {
namespace {

Error refusal(const GpuDispatch& dispatch, std::string why, std::string mend) {
  return {ErrorCode::unsupported, "GPU kernel " + std::string(dispatch.kernel) + " cannot be launched", std::move(why),
          std::move(mend), ""};
}

std::string seconds_text(double seconds) {
  return std::to_string(seconds * 1000) + " ms";
}

}  // namespace

std::string gpu_needs_text(uint32_t needs) {
  std::string text;
  const auto add = [&](uint32_t bit, const char* name) {
    if ((needs & bit) == 0) return;
    text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(kGpuNeedsSimdReduce, "simdgroup reductions");
  add(kGpuNeedsSimdMatrix, "simdgroup matrices");
  add(kGpuNeedsBarrier, "barriers");
  return text.empty() ? "nothing" : text;
}

double predicted_seconds(const GpuDispatch& dispatch, const gpu::Traits& traits) {
  const double arithmetic = traits.tflops_f32 > 0 ? dispatch.flops / (traits.tflops_f32 * 1e12) : 0;
  const double memory = traits.bandwidth_gbs > 0 ? dispatch.bytes / (traits.bandwidth_gbs * 1e9) : 0;
  return traits.launch_us * 1e-6 + std::max(arithmetic, memory);
}

Status check_dispatch(const GpuDispatch& d, const gpu::Traits& traits) {
  uint32_t lacks = 0;
  if (!traits.simd_reduce) lacks |= kGpuNeedsSimdReduce;
  if (!traits.simd_matrix) lacks |= kGpuNeedsSimdMatrix;
  if ((d.needs & lacks) != 0) {
    return refusal(d, "it needs " + gpu_needs_text(d.needs & lacks) + ", which this GPU lacks",
                   "use the variant through threadgroup memory");
  }
  if (d.threads == 0 || d.threads % 32 != 0 || d.threads > static_cast<uint32_t>(traits.max_threads)) {
    return refusal(d,
                   std::to_string(d.threads) + " threads a threadgroup; a multiple of 32 up to " +
                       std::to_string(traits.max_threads) + " is possible",
                   "choose another number of threads");
  }
  // CUDA's limits; Metal's are wider.
  if (d.groups.count() == 0 || d.groups.x > 0x7FFFFFFFu || d.groups.y > 65535 || d.groups.z > 65535) {
    return refusal(d,
                   "a grid of " + std::to_string(d.groups.x) + " x " + std::to_string(d.groups.y) + " x " +
                       std::to_string(d.groups.z) +
                       " threadgroups; 2147483647 x 65535 x 65535 are possible, none is not",
                   "split the launch");
  }
  if (static_cast<int64_t>(d.threadgroup_bytes) > traits.threadgroup_bytes) {
    return refusal(d,
                   std::to_string(d.threadgroup_bytes) + " bytes of threadgroup memory; the GPU has " +
                       std::to_string(traits.threadgroup_bytes),
                   "use a smaller tile");
  }
  if (d.args.size() > kMostGpuArgBytes || d.buffers.size() > static_cast<size_t>(kMostGpuBuffers)) {
    return refusal(d,
                   std::to_string(d.args.size()) + " bytes of arguments and " + std::to_string(d.buffers.size()) +
                       " buffers; " + std::to_string(kMostGpuArgBytes) + " and " + std::to_string(kMostGpuBuffers) +
                       " are possible",
                   "pass less");
  }
  for (const GpuOperand& operand : d.buffers) {
    if (operand.offset + operand.bytes > traits.max_buffer_bytes) {
      return refusal(d,
                     "a buffer of " + std::to_string(operand.offset + operand.bytes) + " bytes; the GPU takes " +
                         std::to_string(traits.max_buffer_bytes),
                     "split the tensor");
    }
  }
  const double seconds = predicted_seconds(d, traits);
  if (traits.watchdog_seconds > 0 && seconds > traits.watchdog_seconds) {
    return refusal(
        d, "it would take about " + seconds_text(seconds) + "; the limit is " + seconds_text(traits.watchdog_seconds),
        "split the launch");
  }
  return {};
}

}  // namespace chiaro
