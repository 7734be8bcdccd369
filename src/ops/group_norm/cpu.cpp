// Channels-last group norm in three steps, all cut by the extents of one picture:
//   1. position chunks of a picture: per channel, sums and then squares about the chunk's own group means (the second
//      look hits the cache); per group (mean, M2) of the chunk;
//   2. per (picture, group): the chunks are combined in order, in double (Chan, Golub and LeVeque 1983);
//   3. position chunks again: y = act((x - center) * scale + shift), center being the mean rounded to f32.
// Bytes: x is read twice (once where it fits the cache), y written once, past the caches where they would not hold it.
#include <cmath>

#include "ops/cpu_blocks/norm_kernel.h"
#include "ops/cpu_blocks/norm_rows.h"
#include "ops/cpu_blocks/stream_copy.h"
#include "ops/group_norm/op.h"

namespace chiaro {
namespace {

struct Partial {
  double mean = 0, m2 = 0;
};

struct Layout {
  RowLayout in, out;                                // of one picture
  int64_t pictures = 1, in_step = 0, out_step = 0;  // bytes between pictures
  TensorDesc weight, bias;
  int64_t channels = 1, groups = 1, chunk_rows = 1, chunks = 1;
  double eps = 0;
  Activation act = Activation::none;
  bool blocks_direct = false;  // step 1 reads x where it lies, else from f32 in a buffer
  bool rows_direct = false;    // so does step 3, which then also writes y where it lies
  int workers = 1;

  int64_t size() const { return channels / groups; }
  int64_t width() const { return buffer_floats(channels); }
  int64_t stage_floats() const { return blocks_direct ? 0 : buffer_floats(chunk_rows * channels); }
  int64_t worker_floats() const { return stage_floats() + 3 * width(); }
  int64_t partial_bytes() const { return (pictures * chunks * groups * int64_t{sizeof(Partial)} + 63) / 64 * 64; }
  int64_t scratch_bytes() const {
    const int64_t floats = (3 * pictures + 2) * width() + workers * worker_floats();
    return partial_bytes() + floats * static_cast<int64_t>(sizeof(float));
  }
};

// One picture of `desc`: its positions as rows of channels.
RowLayout picture_rows(const TensorDesc& desc) {
  TensorDesc one = desc;
  one.shape[0] = 1;
  return rows_along(one, desc.rank() - 1);
}

// Pointers into scratch for one run.
struct Memory {
  Partial* partials;  // [pictures, chunks, groups]
  float* affine;      // [pictures, 3 (center, scale, shift), width]
  const float *weight, *bias;
  float* workers;  // [workers, worker_floats]

  Memory(const Layout& layout, const CpuRun& run) {
    partials = reinterpret_cast<Partial*>(run.scratch);
    affine = reinterpret_cast<float*>(run.scratch + layout.partial_bytes());
    float* parameters = affine + 3 * layout.pictures * layout.width();
    weight = f32_parameter(layout.weight, run.inputs[1], parameters);
    bias = f32_parameter(layout.bias, run.inputs[2], parameters + layout.width());
    workers = parameters + 2 * layout.width();
  }
};

// The sum over the channels of a group: often four of them, too few to call a row function for.
double group_sum(const float* channels, size_t size) {
  double sum = 0;
  for (size_t c = 0; c < size; ++c) sum += static_cast<double>(channels[c]);
  return sum;
}

// Step 1 for rows [first, first + rows) of a picture at `x`.
void chunk_moments(const Layout& layout, const std::byte* x, int64_t first, int64_t rows, float* buffer,
                   Partial* partials) {
  const auto channels = static_cast<size_t>(layout.channels), size = static_cast<size_t>(layout.size());
  float* center = buffer + layout.stage_floats();
  float *s1 = center + layout.width(), *s2 = s1 + layout.width();
  RowBlock block{DType::f32, buffer, static_cast<size_t>(rows), channels, channels};
  if (layout.blocks_direct) {
    block.dtype = layout.in.dtype;
    block.data = x + layout.in.row_bytes(first);
    block.pitch = static_cast<size_t>(layout.in.pitch());
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      decode_row(layout.in.dtype, x + layout.in.row_bytes(first + r), layout.in.stride, channels,
                 buffer + r * layout.channels);
    }
  }
  const double count = static_cast<double>(rows) * static_cast<double>(size), inverse = 1 / count;
  column_sums(block, s1);
  for (size_t c = 0; c < channels; c += size) {
    const auto mean = static_cast<float>(group_sum(s1 + c, size) * inverse);
    std::fill(center + c, center + c + size, mean);
  }
  column_moments(block, center, s1, s2);
  for (size_t c = 0; c < channels; c += size) {
    const double rest = group_sum(s1 + c, size) * inverse;
    const double m2 = group_sum(s2 + c, size) - count * rest * rest;
    *partials++ = {static_cast<double>(center[c]) + rest, m2 < 0 ? 0 : m2};
  }
}

// Step 2 for one group of one picture.
void combine(const Layout& layout, const Memory& memory, int64_t picture, int64_t group) {
  const Partial* partials = memory.partials + picture * layout.chunks * layout.groups + group;
  double count = 0, mean = 0, m2 = 0;
  for (int64_t chunk = 0; chunk < layout.chunks; ++chunk) {
    const int64_t rows = std::min(layout.chunk_rows, layout.in.rows - chunk * layout.chunk_rows);
    const auto more = static_cast<double>(rows * layout.size());
    const Partial& p = partials[chunk * layout.groups];
    const double delta = p.mean - mean, total = count + more;
    mean += delta * (more / total);
    m2 += p.m2 + delta * delta * (count * more / total);
    count = total;
  }
  const double inverse = 1 / std::sqrt(m2 / count + layout.eps);
  const auto center = static_cast<float>(mean);
  const double rest = mean - static_cast<double>(center);
  float* affine = memory.affine + 3 * picture * layout.width();
  for (int64_t c = group * layout.size(); c < (group + 1) * layout.size(); ++c) {
    const double weight = memory.weight != nullptr ? static_cast<double>(memory.weight[c]) : 1.0;
    const double bias = memory.bias != nullptr ? static_cast<double>(memory.bias[c]) : 0.0;
    affine[c] = center;
    affine[layout.width() + c] = static_cast<float>(inverse * weight);
    affine[2 * layout.width() + c] = static_cast<float>(bias - rest * inverse * weight);
  }
}

struct GroupNormCpu {
  using Op = GroupNorm;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.group_norm";
  using Params = Layout;

  static Result<Minted<GroupNormCpu>> plan(const TypedCall<GroupNorm>& call, const DeviceTraits& traits) {
    const TensorDesc &x = call.in(0), &y = call.out();
    CHIARO_TRY(check_activation(name, x));
    CHIARO_TRY(check_activation(name, y));
    Layout layout;
    for (int i : {1, 2}) {
      if (!call.has(i)) continue;
      if (!row_decodable(call.in(i).dtype)) {
        return kernel_refusal(name, call.in(i).text(), "parameters of a plain float type");
      }
      (i == 1 ? layout.weight : layout.bias) = call.in(i);
    }
    layout.in = picture_rows(x);
    layout.out = picture_rows(y);
    layout.pictures = x.shape[0];
    layout.in_step = x.strides[0] * unit_bytes(x.dtype);
    layout.out_step = y.strides[0] * unit_bytes(y.dtype);
    layout.channels = x.shape.back();
    layout.groups = call.attrs.groups;
    layout.eps = call.attrs.eps;
    layout.act = call.attrs.act;
    layout.blocks_direct = layout.in.uniform() && call.inputs[0].alignment % layout.in.unit == 0;
    layout.rows_direct =
        layout.in.uniform() && layout.out.uniform() &&
        chiaro::rows_direct(layout.in, call.inputs[0].alignment, layout.out, call.output.alignment, layout.act);
    layout.workers = traits.threads;
    layout.chunk_rows = rows_per_chunk(layout.channels, 32768, 1024);
    layout.chunks = (layout.in.rows + layout.chunk_rows - 1) / layout.chunk_rows;
    const int64_t scratch = layout.scratch_bytes();
    return Minted<GroupNormCpu>(std::move(layout), scratch);
  }

  static Status run(const Minted<GroupNormCpu>& plan, CpuRun& run) {
    const Layout& layout = *plan;
    CHIARO_TRY(check_workers(name, *run.pool, layout.workers));
    if (layout.pictures == 0 || layout.in.rows == 0 || layout.channels == 0) return {};
    const Memory memory(layout, run);
    const auto rows_of = [&](int64_t chunk) {
      return std::min(layout.chunk_rows, layout.in.rows - chunk * layout.chunk_rows);
    };
    run.parallel_for(layout.pictures * layout.chunks, [&](int64_t i, int worker) {
      const int64_t picture = i / layout.chunks, chunk = i % layout.chunks;
      chunk_moments(layout, run.inputs[0] + picture * layout.in_step, chunk * layout.chunk_rows, rows_of(chunk),
                    memory.workers + worker * layout.worker_floats(), memory.partials + i * layout.groups);
    });
    run.parallel_for(layout.pictures, [&](int64_t picture, int) {
      for (int64_t group = 0; group < layout.groups; ++group) combine(layout, memory, picture, group);
    });
    run.parallel_for(layout.pictures * layout.chunks, [&](int64_t i, int worker) {
      const int64_t picture = i / layout.chunks, first = i % layout.chunks * layout.chunk_rows;
      normalise_chunk(layout, memory, run, picture, first, rows_of(i % layout.chunks),
                      memory.workers + worker * layout.worker_floats() + layout.stage_floats());
    });
    return {};
  }

 private:
  // Whether step 3 writes past the caches, which takes whole cache lines.
  static bool streams(const Layout& layout, const CpuRun& run) {
    const int64_t row = layout.channels * layout.out.unit, pitch = layout.out.pitch() * layout.out.unit;
    return run.output != run.inputs[0] && worth_streaming(layout.pictures * layout.in.rows * row) && row % 64 == 0 &&
           pitch % 64 == 0 && layout.out_step % 64 == 0 && reinterpret_cast<uintptr_t>(run.output) % 64 == 0;
  }
  // Step 3; `buffer` holds two rows.
  static void normalise_chunk(const Layout& layout, const Memory& memory, const CpuRun& run, int64_t picture,
                              int64_t first, int64_t rows, float* buffer) {
    const float* parameters = memory.affine + 3 * picture * layout.width();
    const bool fused = act_in_registers(layout.act);
    ColumnAffine affine{parameters, parameters + layout.width(), parameters + 2 * layout.width(),
                        fused ? layout.act : Activation::none};
    const auto channels = static_cast<size_t>(layout.channels);
    const std::byte* x = run.inputs[0] + picture * layout.in_step;
    std::byte* y = run.output + picture * layout.out_step;
    if (layout.rows_direct && fused) {
      const RowBlock block{layout.in.dtype, x + layout.in.row_bytes(first), static_cast<size_t>(rows),
                           static_cast<size_t>(layout.in.pitch()), channels};
      affine.streams = streams(layout, run);
      affine_rows(block, affine, y + layout.out.row_bytes(first), static_cast<size_t>(layout.out.pitch()));
      if (affine.streams) stream_end();
      return;
    }
    for (int64_t r = first; r < first + rows; ++r) {
      const float* row = f32_row(layout.in, x + layout.in.row_bytes(r), buffer);
      std::byte* target = y + layout.out.row_bytes(r);
      float* result = f32_target(layout.out, target, buffer + layout.width());
      affine_rows({DType::f32, row, 1, channels, channels}, affine, result, channels);
      finish_row(layout.out, fused ? Activation::none : layout.act, result, target);
    }
  }
};

}  // namespace

Kernels cpu_kernels_group_norm() {
  return make_kernels<GroupNormCpu>();
}

}  // namespace chiaro
