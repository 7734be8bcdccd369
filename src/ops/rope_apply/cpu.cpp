// Bytes: x read once, y written once (past the caches where they would not hold it), rot read once per
// picture. A head stays in the first-level cache from its norm to its rotation.
#include <cmath>
#include <cstring>

#include "ops/cpu_blocks/norm_kernel.h"
#include "ops/cpu_blocks/rotary_rows.h"
#include "ops/cpu_blocks/stream_copy.h"
#include "ops/rope_apply/op.h"

namespace chiaro {
namespace {

struct RopeApplyCpu {
  using Op = RopeApply;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.rope_apply";
  struct Params {
    TensorDesc x, rot, y, weight;  // weight: of no dimension where there is none
    bool interleaved, norm;
    double eps;
    bool direct;      // rows are read and written where they lie, else as f32 in a buffer
    bool direct_rot;  // a position's matrices are used where they lie
    int workers;
    size_t half() const { return static_cast<size_t>(x.shape[3] / 2); }
    int64_t position() const { return x.shape[2] * x.shape[3]; }
    // Per worker: rot as it lies, its coefficients, a head of x and after its norm, one position of y (or one row of
    // f32).
    int64_t rot_floats() const { return buffer_floats(2 * x.shape[3]); }
    int64_t coefficient_floats() const { return buffer_floats(static_cast<int64_t>(rotary_floats(half()))); }
    int64_t worker_floats() const {
      return rot_floats() + coefficient_floats() + 2 * buffer_floats(x.shape[3]) + buffer_floats(position());
    }
  };
  static Result<Minted<RopeApplyCpu>> plan(const TypedCall<RopeApply>& call, const DeviceTraits& traits) {
    CHIARO_TRY(check_activation(name, call.in(0)));
    CHIARO_TRY(check_activation(name, call.out()));
    const TensorDesc &x = call.in(0), &rot = call.in(1), &y = call.out();
    const int64_t unit = unit_bytes(x.dtype);
    const bool direct = x.dtype == y.dtype && x.strides[3] == 1 && y.strides[3] == 1 &&
                        call.inputs[0].alignment % unit == 0 && call.output.alignment % unit == 0;
    const bool direct_rot = rot.strides[1] == 4 && rot.strides[2] == 2 && rot.strides[3] == 1 &&
                            call.inputs[1].alignment % int64_t{sizeof(float)} == 0;
    const bool interleaved = call.attrs.layout == RopeLayout::interleaved;
    if (call.has(2) && !row_decodable(call.in(2).dtype)) {
      return kernel_refusal(name, call.in(2).text(), "a weight of a plain float type");
    }
    const TensorDesc weight = call.has(2) ? call.in(2) : TensorDesc{};
    const Params params{x,          rot,           y, weight, interleaved, call.attrs.norm, call.attrs.eps, direct,
                        direct_rot, traits.threads};
    const int64_t floats = buffer_floats(x.shape[3]) + params.worker_floats() * traits.threads;
    const int64_t scratch = floats * static_cast<int64_t>(sizeof(float));
    return Minted<RopeApplyCpu>(params, scratch);
  }
  static Status run(const Minted<RopeApplyCpu>& plan, CpuRun& run) {
    CHIARO_TRY(check_workers(name, *run.pool, plan->workers));
    if (plan->x.count() == 0) return {};
    const int64_t length = plan->x.shape[1];
    const int64_t step = rows_per_chunk(plan->position(), 16384, 4096), chunks = (length + step - 1) / step;
    const bool streams = plan->direct && plan->y.strides[2] == plan->y.shape[3] && run.output != run.inputs[0] &&
                         worth_streaming(plan->y.count() * unit_bytes(plan->y.dtype));
    auto* scratch = reinterpret_cast<float*>(run.scratch);
    const bool weighted = plan->weight.rank() > 0;
    const float* weight = weighted ? f32_parameter(plan->weight, run.inputs[2], scratch) : nullptr;
    scratch += buffer_floats(plan->x.shape[3]);
    run.parallel_for(plan->x.shape[0] * chunks, [&](int64_t i, int worker) {
      float* buffer = scratch + worker * plan->worker_floats();
      const int64_t first = i % chunks * step;
      for (int64_t l = first; l < std::min(length, first + step); ++l) {
        rotate_position(*plan, run, i / chunks, l, streams, weight, buffer);
      }
      if (streams) stream_end();
    });
    return {};
  }

 private:
  // The matrices of position l, where they lie or gathered into `rot`, as coefficients.
  static void read_rotations(const Params& p, const std::byte* data, int64_t l, float* rot, float* coefficients) {
    const Strides& s = p.rot.strides;
    data += l * s[0] * int64_t{sizeof(float)};
    if (p.direct_rot) {
      return rotary_coefficients(reinterpret_cast<const float*>(data), p.half(), p.interleaved, coefficients);
    }
    for (int64_t j = 0; j < 2 * p.x.shape[3]; ++j) {
      const int64_t at = j / 4 * s[1] + j / 2 % 2 * s[2] + j % 2 * s[3];
      std::memcpy(rot + j, data + at * int64_t{sizeof(float)}, sizeof(float));
    }
    rotary_coefficients(rot, p.half(), p.interleaved, coefficients);
  }
  // All heads of position l of picture n.
  static void rotate_position(const Params& p, const CpuRun& run, int64_t n, int64_t l, bool streams,
                              const float* weight, float* buffer) {
    float* coefficients = buffer + p.rot_floats();
    float* head = coefficients + p.coefficient_floats();
    float* stage = head + 2 * buffer_floats(p.x.shape[3]);
    read_rotations(p, run.inputs[1], l, buffer, coefficients);
    const int64_t unit = unit_bytes(p.x.dtype);
    const std::byte* x = run.inputs[0] + (n * p.x.strides[0] + l * p.x.strides[1]) * unit;
    std::byte* y = run.output + (n * p.y.strides[0] + l * p.y.strides[1]) * unit_bytes(p.y.dtype);
    RotaryRows rows{p.x.dtype,    x, y, static_cast<size_t>(p.x.shape[2]), p.half(), p.x.strides[2], p.y.strides[2],
                    p.interleaved};
    if (streams) rows.y = stage;
    if (p.norm) {
      normed_rows(p, rows, coefficients, weight, head);
    } else if (p.direct) {
      rotary_rows(rows, coefficients);
    } else {
      strided_rows(p, rows, coefficients, stage);
    }
    if (streams) stream_bytes(y, reinterpret_cast<const std::byte*>(stage), static_cast<size_t>(p.position() * unit));
  }

  // Rows that cannot be read or written where they lie. `stage`: one row.
  static void strided_rows(const Params& p, const RotaryRows& rows, const float* coefficients, float* stage) {
    const auto d = static_cast<size_t>(p.x.shape[3]);
    const auto* x = static_cast<const std::byte*>(rows.x);
    auto* y = static_cast<std::byte*>(rows.y);
    for (size_t i = 0; i < rows.heads; ++i) {
      decode_row(p.x.dtype, x, p.x.strides[3], d, stage);
      rotary_rows({DType::f32, stage, stage, 1, p.half(), 0, 0, p.interleaved}, coefficients);
      encode_row(p.y.dtype, stage, d, y, p.y.strides[3]);
      x += rows.x_pitch * unit_bytes(p.x.dtype);
      y += rows.y_pitch * unit_bytes(p.y.dtype);
    }
  }

  // Each head normalised as rms_norm does it, in f32, to the same numbers, then turned. `stage`: a head of x, then one
  // after its norm.
  static void normed_rows(const Params& p, const RotaryRows& rows, const float* coefficients, const float* weight,
                          float* stage) {
    const auto d = static_cast<size_t>(p.x.shape[3]);
    const RowLayout in{p.x.dtype, unit_bytes(p.x.dtype), 1, p.x.shape[3], p.x.strides[3], {}, {}};
    const RowLayout out{p.y.dtype, unit_bytes(p.y.dtype), 1, p.y.shape[3], p.y.strides[3], {}, {}};
    float* const normed = stage + buffer_floats(p.x.shape[3]);
    const auto* x = static_cast<const std::byte*>(rows.x);
    auto* y = static_cast<std::byte*>(rows.y);
    RowAffine affine;
    affine.weight = weight;
    for (size_t i = 0; i < rows.heads; ++i) {
      const float* row = f32_row(in, x, stage);
      const void* const rows_measured[] = {row};
      double squares = 0;
      row_square_sums(DType::f32, rows_measured, 1, d, &squares);
      affine.inverse = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(d) + p.eps));
      normalise_row(DType::f32, row, d, affine, normed);
      float* const turned = f32_target(out, y, normed);
      rotary_rows({DType::f32, normed, turned, 1, p.half(), 0, 0, p.interleaved}, coefficients);
      finish_row(out, Activation::none, turned, y);
      x += rows.x_pitch * in.unit;
      y += rows.y_pitch * out.unit;
    }
  }
};

}  // namespace

Kernels cpu_kernels_rope_apply() {
  return make_kernels<RopeApplyCpu>();
}

}  // namespace chiaro
