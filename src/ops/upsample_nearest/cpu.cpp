#include <algorithm>
#include <cstring>

#include "ops/cpu_kernel.h"
#include "ops/upsample_nearest/op.h"

namespace chiaro {
namespace {

// Every plain dtype at any strides. Bytes moved: the result once, the input about once (a source row stays in cache
// while the rows that repeat it are written).
struct UpsampleNearestCpu {
  using Op = UpsampleNearest;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.upsample_nearest";
  struct Params {
    TensorDesc in, out;
  };
  static Result<Minted<UpsampleNearestCpu>> plan(const TypedCall<UpsampleNearest>& call, const DeviceTraits&) {
    if (is_block(call.in(0).dtype)) return kernel_refusal(name, call.in(0).text(), "it takes plain dtypes");
    return Minted<UpsampleNearestCpu>({call.in(0), call.out()});
  }
  static Status run(const Minted<UpsampleNearestCpu>& plan, CpuRun& run) {
    const Shape& shape = plan->out.shape;
    const int64_t row_bytes = std::max<int64_t>(1, shape[2] * shape[3] * unit_bytes(plan->out.dtype));
    const int64_t per_chunk = std::max<int64_t>(1, 64 * 1024 / row_bytes);
    const int64_t rows = shape[3] == 0 ? 0 : shape[0] * shape[1];
    run.parallel_for((rows + per_chunk - 1) / per_chunk, [&](int64_t chunk, int) {
      for (int64_t row = chunk * per_chunk; row < std::min(rows, (chunk + 1) * per_chunk); ++row) {
        copy_row(*plan, run.inputs[0], run.output + row * row_bytes, row / shape[1], row % shape[1]);
      }
    });
    return {};
  }

 private:
  // One row [width, C] of the result.
  static void copy_row(const Params& p, const std::byte* x, std::byte* out, int64_t n, int64_t h) {
    const int64_t unit = unit_bytes(p.in.dtype), channels = p.out.shape[3], width = p.out.shape[2];
    const int64_t source_h = h * p.in.shape[1] / p.out.shape[1];
    const std::byte* row = x + (n * p.in.strides[0] + source_h * p.in.strides[1]) * unit;
    const bool dense_pixel = channels == 1 || p.in.strides[3] == 1;
    const int64_t channel_step = p.in.strides[3] * unit;
    for (int64_t w = 0; w < width; ++w) {
      const std::byte* pixel = row + w * p.in.shape[2] / width * p.in.strides[2] * unit;
      if (dense_pixel) {
        std::memcpy(out, pixel, static_cast<size_t>(channels * unit));
        out += channels * unit;
        continue;
      }
      for (int64_t c = 0; c < channels; ++c, out += unit) {
        std::memcpy(out, pixel + c * channel_step, static_cast<size_t>(unit));
      }
    }
  }
};

}  // namespace

Kernels cpu_kernels_upsample_nearest() {
  return make_kernels<UpsampleNearestCpu>();
}

}  // namespace chiaro
