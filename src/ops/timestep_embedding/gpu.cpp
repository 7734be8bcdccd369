#include <algorithm>

#include "ops/gpu_kernel.h"
#include "ops/timestep_embedding/gpu_args.h"
#include "ops/timestep_embedding/op.h"

namespace chiaro {
namespace {

constexpr size_t kFrequencies = sizeof(TimestepEmbeddingGpuArgs::frequency) / sizeof(float);

// A launch for every kFrequencies frequencies: they travel as arguments.
struct TimestepEmbeddingGpu : GpuKernel<TimestepEmbeddingGpu, TimestepEmbedding> {
  static constexpr std::string_view name = "gpu.timestep_embedding";

  static Result<Minted<TimestepEmbeddingGpu>> plan(const TypedCall<TimestepEmbedding>& call,
                                                   const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    CHIARO_TRY(gpu_offsets_fit(name, x));
    CHIARO_TRY(gpu_offsets_fit(name, y));
    const std::vector<float> frequencies = TimestepEmbedding::frequencies(call.attrs);
    const size_t half = frequencies.size();
    const size_t sin_at = call.attrs.flip_sin_to_cos ? half : 0, cos_at = call.attrs.flip_sin_to_cos ? 0 : half;
    GpuProgram program;
    for (size_t first = 0; first < half && x.shape[0] > 0; first += kFrequencies) {
      const size_t count = std::min<size_t>(half - first, kFrequencies);
      TimestepEmbeddingGpuArgs args{};
      args.rows = gpu_u32(x.shape[0]);
      args.stride = gpu_u32(x.strides[0]);
      args.dim = gpu_u32(call.attrs.dim);
      args.count = static_cast<u32>(count);
      args.sin_at = static_cast<u32>(sin_at + first);
      args.cos_at = static_cast<u32>(cos_at + first);
      args.zero_last = first == 0 && call.attrs.dim % 2 != 0 ? 1 : 0;
      std::copy_n(frequencies.begin() + static_cast<std::ptrdiff_t>(first), count, args.frequency);
      GpuDispatch d = gpu_dispatch("timestep_embedding_each");
      d.buffers = {gpu_input(call, 0), gpu_output(call)};
      d.set_args(args);
      gpu_cover(d, x.shape[0] * static_cast<int64_t>(count), 64);
      d.flops = 40.0 * static_cast<double>(x.shape[0]) * static_cast<double>(count);
      d.bytes = 8.0 * static_cast<double>(x.shape[0]) * static_cast<double>(count);
      program.add(std::move(d));
    }
    CHIARO_TRY(program.check(name, traits));
    return Minted<TimestepEmbeddingGpu>(std::move(program));
  }
};

}  // namespace

Kernels gpu_kernels_timestep_embedding() {
  return make_kernels<TimestepEmbeddingGpu>();
}

}  // namespace chiaro
