// Rows of any plain dtype to and from f32, for one Highway target. Include after hwy/foreach_target.h.
//
// Loads are exact; stores round to nearest even. A row is n elements, `stride` elements apart, at any byte alignment.

#if defined(CHIARO_SIMD_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_SIMD_ROWS_INL_H
#undef CHIARO_SIMD_ROWS_INL_H
#else
#define CHIARO_SIMD_ROWS_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/floats.h"
#include "ops/cpu_blocks/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

using DU = hn::RebindToUnsigned<DF>;
using DU16 = hn::Rebind<uint16_t, DF>;
using DU8 = hn::Rebind<uint8_t, DF>;
using DI8 = hn::Rebind<int8_t, DF>;
inline constexpr size_t kStage = 256;  // elements of a strided row handled at once, a multiple of every vector

// A small float format with its sign at bit 31 and the rest shifted so that its mantissa ends at bit 23: scaling by
// 2^(127 - bias) is exact for normal and subnormal values; `special` lanes (inf, NaN) get the largest exponent.
template <int kShift>
HWY_INLINE VF widen_small_float(hn::Vec<DU> magnitude, hn::Vec<DU> sign, float scale, uint32_t first_special) {
  const DF d;
  const DU du;
  const auto bits = hn::ShiftLeft<kShift>(magnitude);
  const auto scaled = hn::BitCast(du, hn::Mul(hn::BitCast(d, bits), hn::Set(d, scale)));
  const auto special = hn::Or(hn::And(bits, hn::Set(du, 0x7FFFFFu)), hn::Set(du, 0x7F800000u));
  const auto is_special = hn::Gt(hn::BitCast(DI(), magnitude), hn::Set(DI(), static_cast<int32_t>(first_special) - 1));
  const auto chosen = hn::IfThenElse(hn::RebindMask(du, is_special), special, scaled);
  return hn::BitCast(d, hn::Or(chosen, sign));
}

struct LoadF32 {
  using Raw = float;
  static HWY_INLINE VF load(const float* p) { return hn::LoadU(DF(), p); }
};
struct LoadF16 {
  using Raw = uint16_t;
  static HWY_INLINE VF load(const uint16_t* p) {
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
    const DU du;
    const auto x = hn::PromoteTo(du, hn::LoadU(DU16(), p));
    const auto sign = hn::ShiftLeft<16>(hn::And(x, hn::Set(du, 0x8000u)));
    return widen_small_float<13>(hn::And(x, hn::Set(du, 0x7FFFu)), sign, 0x1p112f, 0x7C00u);
#else
    const hn::Rebind<hwy::float16_t, DF> d16;
    return hn::PromoteTo(DF(), hn::BitCast(d16, hn::LoadU(DU16(), p)));
#endif
  }
};
struct LoadBf16 {
  using Raw = uint16_t;
  static HWY_INLINE VF load(const uint16_t* p) {
    return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), hn::LoadU(DU16(), p))));
  }
};
struct LoadE4m3 {
  using Raw = uint8_t;
  static HWY_INLINE VF load(const uint8_t* p) {
    const DU du;
    const auto x = hn::PromoteTo(du, hn::LoadU(DU8(), p));
    const auto sign = hn::ShiftLeft<24>(hn::And(x, hn::Set(du, 0x80u)));
    return widen_small_float<20>(hn::And(x, hn::Set(du, 0x7Fu)), sign, 0x1p120f, 0x7Fu);
  }
};
struct LoadE5m2 {
  using Raw = uint8_t;
  static HWY_INLINE VF load(const uint8_t* p) {
    const DU du;
    const auto x = hn::PromoteTo(du, hn::LoadU(DU8(), p));
    const auto sign = hn::ShiftLeft<24>(hn::And(x, hn::Set(du, 0x80u)));
    return widen_small_float<21>(hn::And(x, hn::Set(du, 0x7Fu)), sign, 0x1p112f, 0x7Cu);
  }
};
struct LoadI8 {
  using Raw = int8_t;
  static HWY_INLINE VF load(const int8_t* p) { return hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(DI8(), p))); }
};

template <class L>
HWY_INLINE void load_dense(const std::byte* source, size_t n, float* out) {
  using Raw = typename L::Raw;
  const DF d;
  const size_t lanes = hn::Lanes(d);
  const Raw* in = reinterpret_cast<const Raw*>(source);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(L::load(in + i), d, out + i);
  if (i == n) return;
  // The last vector overlaps the one before, where there is one.
  if (n >= lanes) return hn::StoreU(L::load(in + n - lanes), d, out + n - lanes);
  HWY_ALIGN Raw raw[hn::MaxLanes(d)] = {};
  HWY_ALIGN float tail[hn::MaxLanes(d)];
  std::memcpy(raw, source + i * sizeof(Raw), (n - i) * sizeof(Raw));
  hn::Store(L::load(raw), d, tail);
  std::memcpy(out + i, tail, (n - i) * sizeof(float));
}

template <class L>
HWY_INLINE void load_strided(const std::byte* source, int64_t stride, size_t n, float* out) {
  using Raw = typename L::Raw;
  HWY_ALIGN Raw stage[kStage];
  const int64_t step = stride * static_cast<int64_t>(sizeof(Raw));
  for (size_t done = 0; done < n; done += kStage) {
    const size_t count = std::min(kStage, n - done);
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(&stage[i], source + static_cast<int64_t>(done + i) * step, sizeof(Raw));
    }
    load_dense<L>(reinterpret_cast<const std::byte*>(stage), count, out + done);
  }
}

template <class L>
HWY_INLINE void load_any(const std::byte* source, int64_t stride, size_t n, float* out) {
  return stride == 1 ? load_dense<L>(source, n, out) : load_strided<L>(source, stride, n, out);
}

// `source` points at the first element; out gets n floats. Only the plain float types and i8.
HWY_MAYBE_UNUSED static HWY_NOINLINE void load_row(DType dtype, const void* source, int64_t stride, size_t n,
                                                   float* out) {
  const auto* bytes = static_cast<const std::byte*>(source);
  switch (dtype) {
    case DType::f32: return load_any<LoadF32>(bytes, stride, n, out);
    case DType::f16: return load_any<LoadF16>(bytes, stride, n, out);
    case DType::bf16: return load_any<LoadBf16>(bytes, stride, n, out);
    case DType::f8_e4m3: return load_any<LoadE4m3>(bytes, stride, n, out);
    case DType::f8_e5m2: return load_any<LoadE5m2>(bytes, stride, n, out);
    case DType::i8: return load_any<LoadI8>(bytes, stride, n, out);
    default: return;
  }
}

struct StoreF32 {
  using Raw = float;
  static HWY_INLINE void store(VF v, float* p) { hn::StoreU(v, DF(), p); }
};
struct StoreF16 {
  using Raw = uint16_t;
  static HWY_INLINE void store(VF v, uint16_t* p) {
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
    HWY_ALIGN float lanes[hn::MaxLanes(DF())];
    hn::Store(v, DF(), lanes);
    for (size_t i = 0; i < hn::Lanes(DF()); ++i) p[i] = f16_from_f32(lanes[i]);
#else
    hn::StoreU(code(v), DU16(), p);
#endif
  }
#if HWY_TARGET != HWY_SSE4 && HWY_TARGET != HWY_SSSE3
  static HWY_INLINE hn::Vec<DU16> code(VF v) {
    const hn::Rebind<hwy::float16_t, DF> d16;
    return hn::BitCast(DU16(), hn::DemoteTo(d16, v));
  }
#endif
};
struct StoreBf16 {
  using Raw = uint16_t;
  static HWY_INLINE void store(VF v, uint16_t* p) { hn::StoreU(code(v), DU16(), p); }
  static HWY_INLINE hn::Vec<DU16> code(VF v) {
    const DU du;
    const auto x = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(x), hn::Set(du, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(x, hn::Add(hn::Set(du, 0x7FFFu), odd)));
    const auto quiet = hn::Or(hn::ShiftRight<16>(x), hn::Set(du, 0x40u));
    const auto bits = hn::IfThenElse(hn::RebindMask(du, hn::Eq(v, v)), rounded, quiet);
    return hn::DemoteTo(DU16(), hn::BitCast(DI(), bits));
  }
};

// The same past the caches (stream_copy.h), where there are instructions for it: p is a multiple of the vector's bytes.
struct StreamF32 {
  static HWY_INLINE void store(VF v, float* p) { hn::Stream(v, DF(), p); }
};
template <class S>
struct StreamHalves {
  static HWY_INLINE void store(VF v, uint16_t* p) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
    hn::Stream(S::code(v), DU16(), p);
#else
    S::store(v, p);
#endif
  }
};
using StreamF16 = StreamHalves<StoreF16>;
using StreamBf16 = StreamHalves<StoreBf16>;

template <class S>
HWY_INLINE void store_any(const float* in, size_t n, std::byte* target, int64_t stride) {
  using Raw = typename S::Raw;
  const DF d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  if (stride == 1) {
    Raw* out = reinterpret_cast<Raw*>(target);
    for (; i + lanes <= n; i += lanes) S::store(hn::LoadU(d, in + i), out + i);
    if (i < n && n >= lanes) return S::store(hn::LoadU(d, in + n - lanes), out + n - lanes);
  }
  HWY_ALIGN float tail[hn::MaxLanes(d)] = {};
  HWY_ALIGN Raw raw[hn::MaxLanes(d)];
  for (; i < n; i += lanes) {
    const size_t count = std::min(lanes, n - i);
    std::memcpy(tail, in + i, count * sizeof(float));
    S::store(hn::Load(d, tail), raw);
    for (size_t j = 0; j < count; ++j) {
      std::memcpy(target + static_cast<int64_t>(i + j) * stride * static_cast<int64_t>(sizeof(Raw)), &raw[j],
                  sizeof(Raw));
    }
  }
}

// Stores n floats as f32, f16 or bf16, `stride` elements apart.
HWY_MAYBE_UNUSED static HWY_NOINLINE void store_row(DType dtype, const float* in, size_t n, void* target,
                                                    int64_t stride) {
  auto* bytes = static_cast<std::byte*>(target);
  switch (dtype) {
    case DType::f32: return store_any<StoreF32>(in, n, bytes, stride);
    case DType::f16: return store_any<StoreF16>(in, n, bytes, stride);
    case DType::bf16: return store_any<StoreBf16>(in, n, bytes, stride);
    default: return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
