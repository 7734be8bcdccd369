// Panels of block-quantised weights (block_panel.h) decoded in registers, for one Highway target. Include after
// hwy/foreach_target.h.
//
// A code of a word is put below the leading one of a float whose last bit it then counts, and what is too much is taken
// off: 2^(23 - b) + u has u at bit b of its mantissa, so that a code costs a vector of columns an and-or, a
// subtraction, and the multiplication by the columns' scales, no conversion. Where minima take a register more, that
// has too many constants: there a code is shifted down and converted, with one mask for all. Codes of a table are
// looked up as bytes first. Whole numbers of up to 8 bits times scales of up to 19 are exact, so that s q - m is one
// rounding, fused or not: the numbers are those of decode_blocks to the bit (NaN for NaN).

#if defined(CHIARO_BLOCK_PANEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_BLOCK_PANEL_INL_H
#undef CHIARO_BLOCK_PANEL_INL_H
#else
#define CHIARO_BLOCK_PANEL_INL_H
#endif

#include <type_traits>
#include <utility>

#include "hwy/cache_control.h"
#include "ops/cpu_blocks/block_panel.h"
#include "ops/cpu_blocks/gemm_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

using VU = hn::Vec<DU>;

inline constexpr int kPart = blocks::kPart;
inline constexpr int64_t kBlockParts = kGemmKc / kPart;  // of a block of the sum, at most

// Scales and minima of the parts of a block of the sum, for the columns of one panel: of each part, or of each half.
struct BlockScales {
  HWY_ALIGN float scale[kBlockParts * 2 * kGemmNrMax];
  HWY_ALIGN float minimum[kBlockParts * 2 * kGemmNrMax];
};

// How codes lie and what they stand for: what kernels differ in.
template <int kLow_, int kHigh_, int kMiddle_, int kTable_, bool kMinimum_, int kGroups_>
struct PanelCodes {
  static constexpr int kLow = kLow_, kHigh = kHigh_, kTable = kTable_, kGroups = kGroups_;
  static constexpr bool kMinimum = kMinimum_;
  static constexpr int kWords = kLow, kLines = kWords + kHigh, kPerWord = kPart / kWords;
  // Codes of a table, and those with bits in two planes, are made two words first, of even codes and of odd ones, in
  // fields of twice the bits; a table's are bytes, numbers + 128.
  static constexpr bool kPaired = kTable != 0 || kHigh > 0;
  static constexpr int kField = kPaired ? 2 * kLow : kLow;
  static constexpr int kMiddle = kTable != 0 ? 128 : kMiddle_;
  static_assert(!kMinimum || kMiddle == 0);
  static const int8_t* table() { return kTable == 1 ? blocks::kIq4Values : blocks::kFp4Doubled; }
};
// By name: gcc's sanitizers make no constants of addresses.
template <class Layout>
inline constexpr int kTableOf = 0;
template <>
inline constexpr int kTableOf<blocks::Iq4NlLayout> = 1;
template <>
inline constexpr int kTableOf<blocks::Iq4XsLayout> = 1;
template <>
inline constexpr int kTableOf<blocks::Mxfp4Layout> = 2;
template <>
inline constexpr int kTableOf<blocks::Nvfp4Layout> = 2;
template <class Layout>
using CodesOf = PanelCodes<PanelForm<Layout>::kLow, PanelForm<Layout>::kHigh, Layout::kMiddle, kTableOf<Layout>,
                           Layout::kMinimum, Layout::kGroups>;

// Where code i of a word is shifted to: bits 8 to 19 of the mantissa have the fewest constants and shifts.
struct CodePlace {
  int right;  // shift, or to the left where negative
  int bit;
};
constexpr CodePlace code_place(int bits, int i) {
  if (bits == 8) return i < 2 ? CodePlace{0, 8 * i} : CodePlace{16, 8 * i - 16};
  const int at = bits * i;
  const int right = bits == 4 ? (i < 2 ? -8 : i < 5 ? 0 : 12) : at / 8 * 8 - 12;
  return {right, at - right};
}

template <int kRight>
HWY_INLINE VU shifted(VU v) {
  if constexpr (kRight == 0)
    return v;
  else if constexpr (kRight < 0)
    return hn::ShiftLeft<-kRight>(v);
  else
    return hn::ShiftRight<kRight>(v);
}

// One vector of columns of a word of codes.
template <class C>
struct CodeWord {
  VU even, odd;  // where codes are not paired, even has all
};

// Word w of a part whose first line is at `part`; lines are `width` words apart.
template <class C>
HWY_INLINE CodeWord<C> load_word_of(const uint32_t* part, int64_t width, int w) {
  const DU du;
  const VU low = hn::LoadU(du, part + w * width);
  if constexpr (C::kHigh > 0) {
    constexpr int kSharing = C::kLow / C::kHigh;
    const VU line = hn::LoadU(du, part + (C::kWords + w / kSharing) * width);
    const VU high = hn::ShiftRightSame(line, C::kHigh * (w % kSharing));
    constexpr uint32_t kEach = 0xFFFFFFFFu / ((1u << C::kField) - 1);  // a one in every field
    const VU low_bits = hn::Set(du, kEach * ((1u << C::kLow) - 1));
    const VU high_bits = hn::Set(du, kEach * (((1u << C::kHigh) - 1) << C::kLow));
    return {hn::OrAnd(hn::And(low, low_bits), hn::ShiftLeft<C::kLow>(high), high_bits),
            hn::OrAnd(hn::And(hn::ShiftRight<C::kLow>(low), low_bits), high, high_bits)};
  }
  if constexpr (C::kTable != 0) {
    const hn::Repartition<uint8_t, DU> d8;
    const auto flipped = hn::Xor(hn::LoadDup128(d8, reinterpret_cast<const uint8_t*>(C::table())), hn::Set(d8, 0x80));
    const VU mask = hn::Set(du, 0x0F0F0F0Fu);
    const auto look = [&](VU v) HWY_ATTR {
      return hn::BitCast(du, hn::TableLookupBytes(flipped, hn::BitCast(d8, hn::And(v, mask))));
    };
    return {look(low), look(hn::ShiftRight<4>(low))};
  }
  return {low, low};
}

// The number that code kCode of the word stands for.
template <class C, int kCode>
HWY_INLINE VF code_number(const CodeWord<C>& word) {
  const DF d;
  const DU du;
  constexpr int kIndex = C::kPaired ? kCode / 2 : kCode;
  const VU from = C::kPaired && kCode % 2 != 0 ? word.odd : word.even;
  if constexpr (C::kMinimum) {
    constexpr int kAt = C::kField * kIndex;
    const VU low = shifted<kAt>(from);
    const VU code = kAt + C::kField == 32 ? low : hn::And(low, hn::Set(du, (1u << C::kField) - 1));
    return hn::ConvertTo(d, hn::BitCast(hn::RebindToSigned<DU>(), code));
  } else {
    constexpr CodePlace kPlace = code_place(C::kField, kIndex);
    constexpr uint32_t kMask = ((1u << C::kField) - 1) << kPlace.bit;
    constexpr uint32_t kLeading = static_cast<uint32_t>(127 + 23 - kPlace.bit) << 23;
    constexpr auto kOffset = static_cast<float>((1 << (23 - kPlace.bit)) + C::kMiddle);
    const VU bits = hn::OrAnd(hn::Set(du, kLeading), shifted<kPlace.right>(from), hn::Set(du, kMask));
    return hn::Sub(hn::BitCast(d, bits), hn::Set(d, kOffset));
  }
}

template <class C>
HWY_INLINE VF scaled(VF number, VF scale, VF minimum) {
  if constexpr (C::kMinimum) return hn::MulSub(scale, number, minimum);
  return hn::Mul(scale, number);
}

// The whole numbers of a block, one vector of columns.
template <class Layout>
struct WholeNumbers {
  VU low[PanelForm<Layout>::kEights], upper[PanelForm<Layout>::kEights];  // of eight numbers each
};

// `lines` as PanelForm has them, from the vector's first column on.
template <class Layout>
HWY_INLINE WholeNumbers<Layout> load_numbers(const uint8_t* lines, int64_t width, int64_t column) {
  const DU du;
  WholeNumbers<Layout> numbers;
  if constexpr (Layout::kScaleBits < 8) {
    const auto* low = reinterpret_cast<const uint32_t*>(lines) + column;
    const auto* upper = reinterpret_cast<const uint16_t*>(lines + 4 * PanelForm<Layout>::kEights * width) + column;
    for (int i = 0; i < PanelForm<Layout>::kEights; ++i) {
      numbers.low[i] = hn::LoadU(du, low + i * width);
      if constexpr (Layout::kScaleBits == 6) {
        numbers.upper[i] = hn::PromoteTo(du, hn::LoadU(DU16(), upper + i * width));
      }
    }
  }
  return numbers;
}

// Number kJ of them, as code_number has it; `bytes`: the column's first line, where numbers are bytes.
template <class Layout, int kJ>
HWY_INLINE VF whole_number(const WholeNumbers<Layout>& numbers, const uint8_t* bytes, int64_t width) {
  const DU du;
  constexpr int kBit = 8;
  const VU leading = hn::Set(du, static_cast<uint32_t>(127 + 23 - kBit) << 23);
  VU bits;
  if constexpr (Layout::kScaleBits == 8) {
    bits = hn::Or(leading, hn::ShiftLeft<kBit>(hn::PromoteTo(du, hn::LoadU(DU8(), bytes + kJ * width))));
  } else {
    bits = hn::OrAnd(leading, shifted<4 * (kJ % 8) - kBit>(numbers.low[kJ / 8]), hn::Set(du, 15u << kBit));
    if constexpr (Layout::kScaleBits == 6) {
      const VU upper = shifted<2 * (kJ % 8) - kBit - 4>(numbers.upper[kJ / 8]);
      bits = hn::OrAnd(bits, upper, hn::Set(du, 3u << (kBit + 4)));
    }
  }
  constexpr auto kOffset = static_cast<float>((1 << (23 - kBit)) + Layout::kScaleMiddle);
  return hn::Sub(hn::BitCast(DF(), bits), hn::Set(DF(), kOffset));
}

// Layout::half_scale of a vector of bytes.
template <class Layout>
HWY_INLINE VF code_scale(const uint8_t* codes) {
  const DU du;
  const DF d;
  const VU code = hn::PromoteTo(du, hn::LoadU(DU8(), codes));
  if constexpr (Layout::kGroups == 1) {  // E8M0: 2^(code - 128), the two smallest of which are f32 subnormals
    const VU normal = hn::ShiftLeft<23>(hn::Sub(code, hn::Set(du, 1u)));
    const VU small = hn::ShiftLeft<21>(hn::Add(code, hn::Set(du, 1u)));
    return hn::BitCast(d, hn::IfThenElse(hn::Lt(code, hn::Set(du, 2u)), small, normal));
  } else {  // E4M3 without its sign, halved; 0x7F is 0
    const VU magnitude = hn::And(code, hn::Set(du, 0x7Fu));
    const VU bits = hn::IfThenZeroElse(hn::Eq(code, hn::Set(du, 0x7Fu)), hn::ShiftLeft<20>(magnitude));
    return hn::Mul(hn::BitCast(d, bits), hn::Set(d, 0x1p119f));
  }
}

// One vector of columns of a block's scales.
template <class Layout>
HWY_INLINE void spread_block(const uint8_t* lines, int64_t width, int64_t column, int64_t first, int64_t last,
                             float* scale, float* minimum) {
  constexpr int kGroups = Layout::kGroups, kAll = PanelForm<Layout>::kParts * kGroups;
  const DF d;
  const uint8_t* bytes = lines + PanelForm<Layout>::kHalves * width;
  VF s = hn::Zero(d), m = hn::Zero(d);
  if constexpr (Layout::kScales != blocks::Scales::kFloat) {
    const auto* halves = reinterpret_cast<const uint16_t*>(lines) + column;
    s = LoadF16::load(halves);
    if constexpr (Layout::kMinimum) m = LoadF16::load(halves + width);
  }
  if constexpr (Layout::kScales == blocks::Scales::kOne) {
    hn::Store(s, d, scale);
    if constexpr (Layout::kMinimum) hn::Store(hn::Neg(m), d, minimum);
  } else if constexpr (Layout::kScales == blocks::Scales::kFloat) {
    for (int64_t i = first * kGroups; i < last * kGroups; ++i, scale += width) {
      hn::Store(code_scale<Layout>(lines + i * width + column), d, scale);
    }
  } else {
    const auto numbers = load_numbers<Layout>(bytes, width, column);
    const auto group = [&]<int kGroup>(std::integral_constant<int, kGroup>) HWY_ATTR {
      if (kGroup < first * kGroups || kGroup >= last * kGroups) return;
      hn::Store(hn::Mul(s, whole_number<Layout, kGroup>(numbers, bytes + column, width)), d, scale);
      scale += width;
      if constexpr (Layout::kMinimum) {
        hn::Store(hn::Mul(m, whole_number<Layout, kAll + kGroup>(numbers, bytes + column, width)), d, minimum);
        minimum += width;
      }
    };
    [&]<int... kGroup>(std::integer_sequence<int, kGroup...>) HWY_ATTR {
      (group(std::integral_constant<int, kGroup>()), ...);
    }
    (std::make_integer_sequence<int, kAll>());
  }
}

// The scales of parts [part0, part0 + parts) for one panel, whose scales are at `scales`.
template <class Layout>
HWY_NOINLINE void spread_scales(const uint8_t* scales, int64_t width, int64_t part0, int64_t parts, BlockScales& out) {
  using Form = PanelForm<Layout>;
  for (int64_t part = part0; part < part0 + parts;) {
    const int64_t block = part / Form::kParts, first = part % Form::kParts;
    const int64_t last = std::min<int64_t>(Form::kParts, part0 + parts - block * Form::kParts);
    const int64_t at = (part - part0) * Layout::kGroups * width;
    for (int64_t n = 0; n < width; n += vector_lanes()) {
      spread_block<Layout>(scales + block * Form::kScaleBytes * width, width, n, first, last, out.scale + at + n,
                           out.minimum + at + n);
    }
    part += last - first;
  }
}

template <class C, int... kCode>
HWY_INLINE void write_word(const CodeWord<C>& word, VF scale, VF minimum, int64_t width, float* out,
                           std::integer_sequence<int, kCode...>) {
  (hn::StoreU(scaled<C>(code_number<C, kCode>(word), scale, minimum), DF(), out + kCode * width), ...);
}

// Parts [0, parts) of a panel, whose codes begin at `codes`, as out[k * width + n].
template <class C>
HWY_NOINLINE void write_parts(const uint32_t* codes, const BlockScales& scales, int64_t width, int64_t parts,
                              float* out) {
  const DF d;
  for (int64_t i = 0; i < parts; ++i, codes += C::kLines * width) {
    for (int w = 0; w < C::kWords; ++w, out += C::kPerWord * width) {
      for (int64_t n = 0; n < width; n += vector_lanes()) {
        const int64_t at = (i * C::kGroups + w * C::kGroups / C::kWords) * width + n;
        VF minimum = hn::Zero(d);
        if constexpr (C::kMinimum) minimum = hn::Load(d, scales.minimum + at);
        write_word<C>(load_word_of<C>(codes + n, width, w), hn::Load(d, scales.scale + at), minimum, width, out + n,
                      std::make_integer_sequence<int, C::kPerWord>());
      }
    }
  }
}

// How a type is decoded.
struct BlockReader {
  void (*spread)(const uint8_t*, int64_t, int64_t, int64_t, BlockScales&);
  void (*write)(const uint32_t*, const BlockScales&, int64_t, int64_t, float*);
  int64_t part_bytes;          // of a column's codes
  int64_t parts, scale_bytes;  // of a block, of a column's scales of one
};
inline BlockReader block_reader(DType dtype) {
  return blocks::with_layout(dtype, []<class Layout>() {
    using Form = PanelForm<Layout>;
    return BlockReader{&spread_scales<Layout>, &write_parts<CodesOf<Layout>>, Form::kPartBytes, Form::kParts,
                       Form::kScaleBytes};
  });
}

// Steps [k0, k0 + depth), multiples of 32, of a panel of k_total steps, as out[(k - k0) * width + n].
HWY_INLINE void decode_block_panel(const BlockReader& reader, const std::byte* panel, int64_t width, int64_t k_total,
                                   int64_t k0, int64_t depth, float* out) {
  BlockScales scales;
  const auto* codes = reinterpret_cast<const uint8_t*>(panel);
  const uint8_t* all_scales = codes + k_total / kPart * reader.part_bytes * width;
  for (int64_t k = k0; k < k0 + depth; k += kBlockParts * kPart) {
    const int64_t part = k / kPart, parts = std::min(kBlockParts, (k0 + depth - k) / kPart);
    reader.spread(all_scales, width, part, parts, scales);
    reader.write(reinterpret_cast<const uint32_t*>(codes + part * reader.part_bytes * width), scales, width, parts,
                 out + (k - k0) * width);
  }
}

// The same of a panel of any dtype; f32 ones are read where they lie. `stage`: depth * width floats.
HWY_INLINE const float* panel_steps(DType dtype, const std::byte* panel, int64_t width, int64_t k_total, int64_t k0,
                                    int64_t depth, float* stage) {
  if (dtype == DType::f32) return reinterpret_cast<const float*>(panel) + k0 * width;
  if (is_block(dtype)) {
    decode_block_panel(block_reader(dtype), panel, width, k_total, k0, depth, stage);
  } else {
    load_row(dtype, panel + k0 * width * unit_bytes(dtype), 1, static_cast<size_t>(depth * width), stage);
  }
  return stage;
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
