#include "ops/cpu_blocks/strided_copy.h"

#include <array>
#include <cstring>

namespace chiaro {
namespace {

constexpr int64_t kChunkBytes = 64 * 1024;  // what a thread takes at once
constexpr int64_t kPiece = 1024;            // elements whose source offsets are listed at once
constexpr int64_t kTile = 16;               // side of a transposed tile: a cache line of f32

template <class U>
void copy_run(const std::byte* source, int64_t source_stride, std::byte* target, int64_t target_stride, int64_t n) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(U));
  if (source_stride == 1 && target_stride == 1) {
    std::memcpy(target, source, static_cast<size_t>(n * kUnit));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(target + i * target_stride * kUnit, source + i * source_stride * kUnit, sizeof(U));
  }
}

// Both operands run along the same innermost dimension, so that their runs have the same lengths.
template <class U>
void copy_range(const Nest& nest, const std::byte* source, std::byte* target, int64_t start, int64_t count) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(U));
  const int64_t from_stride = nest.inner_stride(1), to_stride = nest.inner_stride(0);
  std::array<int64_t, kPiece> from;
  while (count > 0) {
    // At most kPiece runs: every run but the first and the last one has the innermost dimension's length.
    const int64_t n = std::min(count, (kPiece - 1) * nest.inner_size());
    size_t runs = 0, used = 0;
    for_each_run(nest, 1, start, n, [&](int64_t offset, int64_t) { from[runs++] = offset; });
    for_each_run(nest, 0, start, n, [&](int64_t offset, int64_t length) {
      copy_run<U>(source + from[used++] * kUnit, from_stride, target + offset * kUnit, to_stride, length);
    });
    start += n;
    count -= n;
  }
}

// The target is dense along the innermost dimension i, the source along dimension t. A tile is read along t, a whole
// cache line at a time, and written along i.
template <class U>
void copy_tile(const std::byte* source, int64_t source_stride, std::byte* target, int64_t target_stride,
               int64_t along_t, int64_t along_i) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(U));
  U tile[kTile][kTile];
  for (int64_t i = 0; i < along_i; ++i) {
    std::memcpy(tile[i], source + i * source_stride * kUnit, static_cast<size_t>(along_t) * sizeof(U));
  }
  for (int64_t t = 0; t < along_t; ++t) {
    U line[kTile];
    if (along_i == kTile) {
      for (int64_t i = 0; i < kTile; ++i) line[i] = tile[i][t];  // a constant count: unrolled
    } else {
      for (int64_t i = 0; i < along_i; ++i) line[i] = tile[i][t];
    }
    std::memcpy(target + t * target_stride * kUnit, line, static_cast<size_t>(along_i) * sizeof(U));
  }
}

template <class U>
void copy_transposed(const CpuRun& run, const StridedCopy& plan, const std::byte* source, std::byte* target) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(U));
  const Nest& nest = plan.nest;
  const auto t = static_cast<size_t>(plan.transposed), inner = static_cast<size_t>(nest.rank - 1);
  // The nest of bands: dimension t in steps of kTile, the innermost one as one step.
  Nest bands = nest;
  const int64_t band_count = (nest.shape[t] + kTile - 1) / kTile;
  bands.shape[t] = band_count;
  for (auto& strides : bands.strides) strides[t] *= kTile;
  bands.rank = nest.rank - 1;
  bands.count = 1;
  for (size_t d = 0; d < inner; ++d) bands.count *= bands.shape[d];
  const int64_t band_bytes = kTile * nest.shape[inner] * kUnit;
  const int64_t per_chunk = std::max<int64_t>(1, kChunkBytes / band_bytes);
  run.parallel_for((bands.count + per_chunk - 1) / per_chunk, [&](int64_t chunk, int) {
    const int64_t end = std::min(bands.count, (chunk + 1) * per_chunk);
    for (int64_t band = chunk * per_chunk; band < end; ++band) {
      int64_t rest = band, from = 0, to = 0, along_t = kTile;
      for (size_t d = inner; d-- > 0;) {
        const int64_t index = rest % bands.shape[d];
        rest /= bands.shape[d];
        from += index * bands.strides[1][d];
        to += index * bands.strides[0][d];
        if (d == t) along_t = std::min(kTile, nest.shape[t] - index * kTile);
      }
      for (int64_t i = 0; i < nest.shape[inner]; i += kTile) {
        copy_tile<U>(source + (from + i * nest.strides[1][inner]) * kUnit, nest.strides[1][inner],
                     target + (to + i) * kUnit, nest.strides[0][t], along_t, std::min(kTile, nest.shape[inner] - i));
      }
    }
  });
}

template <class U>
void copy_units(const CpuRun& run, const StridedCopy& plan, const std::byte* source, std::byte* target) {
  if (plan.transposed >= 0) return copy_transposed<U>(run, plan, source, target);
  constexpr auto kChunk = kChunkBytes / static_cast<int64_t>(sizeof(U));
  const int64_t count = plan.nest.count;
  run.parallel_for((count + kChunk - 1) / kChunk, [&](int64_t chunk, int) {
    copy_range<U>(plan.nest, source, target, chunk * kChunk, std::min(kChunk, count - chunk * kChunk));
  });
}

}  // namespace

StridedCopy make_copy(const TensorDesc& target, const TensorDesc& source) {
  StridedCopy plan;
  plan.unit = unit_bytes(target.dtype);
  plan.nest = make_nest(std::array{target, source});
  const Nest& nest = plan.nest;
  const auto inner = static_cast<size_t>(nest.rank - 1);
  if (nest.strides[0][inner] == 1 && nest.strides[1][inner] > 1 && nest.shape[inner] > 1) {
    for (size_t d = 0; d < inner; ++d) {
      if (nest.strides[1][d] == 1 && nest.shape[d] >= 4) plan.transposed = static_cast<int>(d);
    }
  }
  return plan;
}

void run_copy(const CpuRun& run, const StridedCopy& plan, const std::byte* source, std::byte* target) {
  if (plan.nest.count == 0 || (source == target && plan.nest.strides[0] == plan.nest.strides[1])) return;
  switch (plan.unit) {
    case 1: return copy_units<uint8_t>(run, plan, source, target);
    case 2: return copy_units<uint16_t>(run, plan, source, target);
    default: return copy_units<uint32_t>(run, plan, source, target);
  }
}

}  // namespace chiaro
