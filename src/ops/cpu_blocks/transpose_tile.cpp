// Tiles are transposed in squares of one 128-bit vector's width, by interleaving; every instruction set has those.
#include "ops/cpu_blocks/transpose_tile.h"

#include <cstring>

#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/transpose_tile.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One step of the transposition: pairs of rows, interleaved in elements of T, `kSize` 128-bit rows in all. Rows k and
// k + kSize / 2 give rows 2k and 2k + 1. Repeated log2(kSize) times with elements of the same size, it transposes.
template <class D, size_t kSize>
HWY_INLINE void interleave(const hn::Vec<D> (&in)[kSize], hn::Vec<D> (&out)[kSize]) {
  const D d;
  for (size_t k = 0; k < kSize / 2; ++k) {
    out[2 * k] = hn::InterleaveLower(d, in[k], in[k + kSize / 2]);
    out[2 * k + 1] = hn::InterleaveUpper(d, in[k], in[k + kSize / 2]);
  }
}

template <class T>
HWY_INLINE void square(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step) {
  constexpr size_t kSize = 16 / sizeof(T);
  using D = hn::FixedTag<T, kSize>;
  const D d;
  hn::Vec<D> a[kSize], b[kSize];
  for (size_t k = 0; k < kSize; ++k) {
    a[k] = hn::LoadU(d, reinterpret_cast<const T*>(source + static_cast<int64_t>(k) * source_step));
  }
  interleave<D, kSize>(a, b);
  interleave<D, kSize>(b, a);
  if constexpr (kSize == 8) {
    interleave<D, kSize>(a, b);
    for (size_t k = 0; k < kSize; ++k) a[k] = b[k];
  }
  for (size_t k = 0; k < kSize; ++k) {
    hn::StoreU(a[k], d, reinterpret_cast<T*>(target + static_cast<int64_t>(k) * target_step));
  }
}

// Through a tile of its own, so that a line of the target is written whole: lines at a large power of two apart would
// otherwise push each other out of the cache half-written.
template <class T>
HWY_INLINE void tile(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step) {
  constexpr int64_t kSide = kTileBytes / static_cast<int64_t>(sizeof(T)),
                    kSquare = 16 / static_cast<int64_t>(sizeof(T));
  HWY_ALIGN std::byte turned[kSide * kTileBytes];
  for (int64_t i = 0; i < kSide; i += kSquare) {
    for (int64_t t = 0; t < kSide; t += kSquare) {
      square<T>(source + i * source_step + t * static_cast<int64_t>(sizeof(T)), source_step,
                turned + t * kTileBytes + i * static_cast<int64_t>(sizeof(T)), kTileBytes);
    }
  }
  for (int64_t t = 0; t < kSide; ++t) std::memcpy(target + t * target_step, turned + t * kTileBytes, kTileBytes);
}

void tile32(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step) {
  tile<uint32_t>(source, source_step, target, target_step);
}
void tile16(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step) {
  tile<uint16_t>(source, source_step, target, target_step);
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(tile32);
HWY_EXPORT(tile16);

void transpose_tile32(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step) {
  HWY_DYNAMIC_DISPATCH(tile32)(source, source_step, target, target_step);
}
void transpose_tile16(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step) {
  HWY_DYNAMIC_DISPATCH(tile16)(source, source_step, target, target_step);
}

}  // namespace chiaro
#endif
