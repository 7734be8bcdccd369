#include "ops/cpu_blocks/strided_copy.h"

#include <array>
#include <cstring>

#include "ops/cpu_blocks/stream_copy.h"
#include "ops/cpu_blocks/transpose_tile.h"

namespace chiaro {
namespace {

constexpr int64_t kChunkBytes = 64 * 1024;  // what a thread takes at once
constexpr int64_t kPiece = 1024;            // elements whose source offsets are listed at once
constexpr int64_t kBand = 64;               // side of a block of tiles: 16 KiB of f32 on either side
template <class U>
constexpr int64_t kTile = kTileBytes / static_cast<int64_t>(sizeof(U));  // side of a tile

template <class U>
void copy_run(const std::byte* source, int64_t source_stride, std::byte* target, int64_t target_stride, int64_t n,
              bool streams) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(U));
  if (source_stride == 1 && target_stride == 1) {
    const auto bytes = static_cast<size_t>(n * kUnit);
    streams ? stream_bytes(target, source, bytes) : static_cast<void>(std::memcpy(target, source, bytes));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(target + i * target_stride * kUnit, source + i * source_stride * kUnit, sizeof(U));
  }
}

// Both operands run along the same innermost dimension, so that their runs have the same lengths.
template <class U>
void copy_range(const Nest& nest, const std::byte* source, std::byte* target, int64_t start, int64_t count,
                bool streams) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(U));
  const int64_t from_stride = nest.inner_stride(1), to_stride = nest.inner_stride(0);
  std::array<int64_t, kPiece> from;
  while (count > 0) {
    // At most kPiece runs: every run but the first and the last one has the innermost dimension's length.
    const int64_t n = std::min(count, (kPiece - 1) * nest.inner_size());
    size_t runs = 0, used = 0;
    for_each_run(nest, 1, start, n, [&](int64_t offset, int64_t) { from[runs++] = offset; });
    for_each_run(nest, 0, start, n, [&](int64_t offset, int64_t length) {
      copy_run<U>(source + from[used++] * kUnit, from_stride, target + offset * kUnit, to_stride, length, streams);
    });
    start += n;
    count -= n;
  }
}

// The target is dense along the innermost dimension i, the source along dimension t. A tile is read along t, a whole
// cache line at a time, and written along i. At the edges: less than a tile.
template <class U>
void copy_tile(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step, int64_t along_t,
               int64_t along_i) {
  if (along_t == kTile<U> && along_i == kTile<U>) {
    if constexpr (sizeof(U) == 4) return transpose_tile32(source, source_step, target, target_step);
    if constexpr (sizeof(U) == 2) return transpose_tile16(source, source_step, target, target_step);
  }
  for (int64_t t = 0; t < along_t; ++t) {
    U line[kTile<U>];
    const std::byte* from = source + t * static_cast<int64_t>(sizeof(U));
    for (int64_t i = 0; i < along_i; ++i) std::memcpy(&line[i], from + i * source_step, sizeof(U));
    std::memcpy(target + t * target_step, line, static_cast<size_t>(along_i) * sizeof(U));
  }
}

// One band: kBand (or, at the edge, fewer) elements along t, all of i. In blocks of kBand * kBand, so that a page of
// either side is used for several lines at a time.
template <class U>
void copy_band(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step, int64_t along_t,
               int64_t along_i) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(U));
  for (int64_t block = 0; block < along_i; block += kBand) {
    const int64_t block_end = std::min(along_i, block + kBand);
    for (int64_t t = 0; t < along_t; t += kTile<U>) {
      for (int64_t i = block; i < block_end; i += kTile<U>) {
        copy_tile<U>(source + i * source_step + t * kUnit, source_step, target + t * target_step + i * kUnit,
                     target_step, std::min(kTile<U>, along_t - t), std::min(kTile<U>, block_end - i));
      }
    }
  }
}

template <class U>
void copy_transposed(const CpuRun& run, const StridedCopy& plan, const std::byte* source, std::byte* target) {
  constexpr auto kUnit = static_cast<int64_t>(sizeof(U));
  const Nest& nest = plan.nest;
  const auto t = static_cast<size_t>(plan.transposed), inner = static_cast<size_t>(nest.rank - 1);
  const int64_t inner_size = nest.inner_size();
  // The loop over bands: dimension t in steps of kBand, the innermost one in steps of what a thread takes at once.
  std::array<int64_t, kMaxRank> steps{}, counts = nest.shape;
  steps.fill(1);
  steps[t] = kBand;
  steps[inner] = std::max<int64_t>(1, kChunkBytes / (kBand * kUnit) / kBand) * kBand;
  int64_t bands = 1;
  for (size_t d = 0; d <= inner; ++d) {
    counts[d] = (nest.shape[d] + steps[d] - 1) / steps[d];
    bands *= counts[d];
  }
  const int64_t band_bytes = std::min(kBand, nest.shape[t]) * std::min(steps[inner], inner_size) * kUnit;
  const int64_t per_chunk = std::max<int64_t>(1, kChunkBytes / band_bytes);
  run.parallel_for((bands + per_chunk - 1) / per_chunk, [&](int64_t chunk, int) {
    const int64_t end = std::min(bands, (chunk + 1) * per_chunk);
    for (int64_t band = chunk * per_chunk; band < end; ++band) {
      int64_t rest = band, from = 0, to = 0;
      std::array<int64_t, kMaxRank> start{};
      for (size_t d = inner + 1; d-- > 0;) {
        start[d] = rest % counts[d] * steps[d];
        rest /= counts[d];
        from += start[d] * nest.strides[1][d];
        to += start[d] * nest.strides[0][d];
      }
      copy_band<U>(source + from * kUnit, nest.strides[1][inner] * kUnit, target + to * kUnit,
                   nest.strides[0][t] * kUnit, std::min(kBand, nest.shape[t] - start[t]),
                   std::min(steps[inner], inner_size - start[inner]));
    }
  });
}

template <class U>
void copy_units(const CpuRun& run, const StridedCopy& plan, const std::byte* source, std::byte* target) {
  if (plan.transposed >= 0) return copy_transposed<U>(run, plan, source, target);
  constexpr auto kChunk = kChunkBytes / static_cast<int64_t>(sizeof(U));
  const int64_t count = plan.nest.count;
  const bool streams = worth_streaming(count * static_cast<int64_t>(sizeof(U)));
  run.parallel_for((count + kChunk - 1) / kChunk, [&](int64_t chunk, int) {
    copy_range<U>(plan.nest, source, target, chunk * kChunk, std::min(kChunk, count - chunk * kChunk), streams);
    if (streams) stream_end();
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
