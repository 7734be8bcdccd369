// Bytes: x read once, y written once, rot read once per picture.
#include <cstring>

#include "ops/cpu_blocks/norm_kernel.h"
#include "ops/cpu_blocks/norm_rows.h"
#include "ops/rope_apply/op.h"

namespace chiaro {
namespace {

struct RopeApplyCpu {
  using Op = RopeApply;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.rope_apply";
  struct Params {
    TensorDesc x, rot, y;
    bool interleaved;
    int workers;
    // Per worker: rot as it lies [2d], rot as four rows [4p], x [2p], y [2p].
    int64_t padded() const { return static_cast<int64_t>(rotary_padded(static_cast<size_t>(x.shape[3] / 2))); }
    int64_t worker_floats() const { return buffer_floats(2 * x.shape[3]) + buffer_floats(8 * padded()); }
  };
  static Result<Minted<RopeApplyCpu>> plan(const TypedCall<RopeApply>& call, const DeviceTraits& traits) {
    CHIARO_TRY(check_activation(name, call.in(0)));
    CHIARO_TRY(check_activation(name, call.out()));
    const bool interleaved = call.attrs.layout == RopeLayout::interleaved;
    const Params params{call.in(0), call.in(1), call.out(), interleaved, traits.threads};
    const int64_t scratch = params.worker_floats() * traits.threads * static_cast<int64_t>(sizeof(float));
    return Minted<RopeApplyCpu>(params, scratch);
  }
  static Status run(const Minted<RopeApplyCpu>& plan, CpuRun& run) {
    CHIARO_TRY(check_workers(name, *run.pool, plan->workers));
    const int64_t length = plan->x.shape[1], width = plan->x.shape[2] * plan->x.shape[3];
    if (plan->x.count() == 0) return {};
    const int64_t step = rows_per_chunk(width, 16384, 4096), chunks = (length + step - 1) / step;
    run.parallel_for(plan->x.shape[0] * chunks, [&](int64_t i, int worker) {
      float* buffer = reinterpret_cast<float*>(run.scratch) + worker * plan->worker_floats();
      const int64_t first = i % chunks * step;
      for (int64_t l = first; l < std::min(length, first + step); ++l) {
        rotate_position(*plan, run, i / chunks, l, buffer);
      }
    });
    return {};
  }

 private:
  // All heads of position l of picture n.
  static void rotate_position(const Params& p, const CpuRun& run, int64_t n, int64_t l, float* rot) {
    const int64_t half = p.x.shape[3] / 2, padded = p.padded();
    float* split = rot + buffer_floats(2 * p.x.shape[3]);
    float *x = split + 4 * padded, *y = x + 2 * padded;
    for (int64_t j = 0; j < 4 * half; ++j) {
      const int64_t at =
          l * p.rot.strides[0] + j / 4 * p.rot.strides[1] + j / 2 % 2 * p.rot.strides[2] + j % 2 * p.rot.strides[3];
      std::memcpy(rot + j, run.inputs[1] + at * int64_t{sizeof(float)}, sizeof(float));
    }
    rotary_split(rot, static_cast<size_t>(half), split);
    const auto offset = [&](const TensorDesc& t, int64_t head) {
      return (n * t.strides[0] + l * t.strides[1] + head * t.strides[2]) * unit_bytes(t.dtype);
    };
    // The split layout keeps its halves at 0 and `padded`; the interleaved one is one row.
    const int64_t parts = p.interleaved ? 1 : 2, size = p.x.shape[3] / parts;
    for (int64_t head = 0; head < p.x.shape[2]; ++head) {
      const std::byte* source = run.inputs[0] + offset(p.x, head);
      std::byte* target = run.output + offset(p.y, head);
      for (int64_t part = 0; part < parts; ++part) {
        decode_row(p.x.dtype, source + part * size * p.x.strides[3] * unit_bytes(p.x.dtype), p.x.strides[3],
                   static_cast<size_t>(size), x + part * padded);
      }
      rotary_row(x, split, static_cast<size_t>(half), p.interleaved, y);
      for (int64_t part = 0; part < parts; ++part) {
        encode_row(p.y.dtype, y + part * padded, static_cast<size_t>(size),
                   target + part * size * p.y.strides[3] * unit_bytes(p.y.dtype), p.y.strides[3]);
      }
    }
  }
};

}  // namespace

Kernels cpu_kernels_rope_apply() {
  return make_kernels<RopeApplyCpu>();
}

}  // namespace chiaro
