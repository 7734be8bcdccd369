// The inner loops of attention for one Highway target. Include after hwy/foreach_target.h.
//
// Rows of q are lanes: a panel is up to two vectors of rows, everything that belongs to them (scores, weights, sums) is
// [n][width], and keys or channels n are multiplied as broadcast numbers. So the softmax is over numbers of one lane
// (nothing is reduced across lanes), no channel or key is padded, and a row of q never meets another one.

#if defined(CHIARO_ATTENTION_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_ATTENTION_KERNEL_INL_H
#undef CHIARO_ATTENTION_KERNEL_INL_H
#else
#define CHIARO_ATTENTION_KERNEL_INL_H
#endif

#include <limits>

#include "ops/cpu_blocks/gemm_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// out[k * out_stride + n] = in[n * in_stride + k], n < rows, k < count.
HWY_INLINE void transpose_rows(const float* in, int64_t in_stride, int64_t rows, int64_t count, float* out,
                               int64_t out_stride) {
  const int64_t whole = rows / 4 * 4;
  transpose_stage(in, in_stride, count, whole, [=](int64_t k) HWY_ATTR { return out + k * out_stride; });
  for (int64_t n = whole; n < rows; ++n) {
    for (int64_t k = 0; k < count; ++k) out[k * out_stride + n] = in[n * in_stride + k];
  }
}

// Copies a few floats, without the call that memcpy of an unknown number is.
HWY_INLINE void copy_few(const float* in, int64_t count, float* out) {
  const hn::FixedTag<float, 4> d;
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) hn::StoreU(hn::LoadU(d, in + i), d, out + i);
  for (; i < count; ++i) out[i] = in[i];
}

// log4(e). Scores are powers of four, not of two, so that any finite bias times this is finite.
inline constexpr float kLog4E = 1.44269504088896341f / 2;

// 4^x for x <= 0, within 2e-7 of it; 0 below 2^-126, NaN for NaN. 2 x = n + r with |r| <= 1/2: adding 1.5 * 2^23 + 127
// rounds 2 x, and leaves n + 127, the exponent of 2^n, in the lowest bits. A minimax polynomial, exact at 0 (relative
// error 9.2e-8), gives 2^r.
HWY_INLINE VF exp4_below_one(VF x) {
  const DF d;
  static constexpr float kPoly[] = {1.326472732309249e-3f, 9.671512752273161e-3f, 5.550733743977259e-2f,
                                    2.402224208365608e-1f, 6.931469775981351e-1f, 1.0f};
  const VF magic = hn::Set(d, 12583039.0f), two = hn::Set(d, 2.0f);
  const VF shifted = hn::MulAdd(two, x, magic);
  const VF r = hn::MulSub(two, x, hn::Sub(shifted, magic));
  const VF power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(DI(), shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -63.0f)), hn::Mul(polynomial(r, kPoly), power));
}

// What a product does with its sums.
struct StoreScores {
  float* highest;  // [width], the highest score yet; taken and given back
};
struct AddToSums {
  const float* factor;  // [width]: c becomes c * factor + sum; null: c is not read
};

template <int kRows, int kVecs>
HWY_INLINE void finish_tile(const VF (&sum)[kRows][kVecs], float* HWY_RESTRICT c, const StoreScores& out) {
  const DF d;
  const int64_t lanes = vector_lanes();
  CHIARO_UNROLL
  for (int v = 0; v < kVecs; ++v) {
    VF most = hn::LoadU(d, out.highest + v * lanes);
    CHIARO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      most = hn::Max(most, sum[r][v]);
      hn::StoreU(sum[r][v], d, c + (r * kVecs + v) * lanes);
    }
    hn::StoreU(most, d, out.highest + v * lanes);
  }
}

template <int kRows, int kVecs>
HWY_INLINE void finish_tile(const VF (&sum)[kRows][kVecs], float* HWY_RESTRICT c, const AddToSums& out) {
  const DF d;
  const int64_t lanes = vector_lanes();
  CHIARO_UNROLL
  for (int v = 0; v < kVecs; ++v) {
    const VF factor = out.factor == nullptr ? hn::Zero(d) : hn::LoadU(d, out.factor + v * lanes);
    CHIARO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      float* p = c + (r * kVecs + v) * lanes;
      hn::StoreU(out.factor == nullptr ? sum[r][v] : hn::MulAdd(hn::LoadU(d, p), factor, sum[r][v]), d, p);
    }
  }
}

// sum over k of a[k * a_step + r] b[k * width + lane], r < kRows, each one chain of multiply-adds in the order of k.
template <int kRows, int kVecs, class Out>
HWY_NOINLINE void attention_tile(int64_t depth, const float* HWY_RESTRICT a, int64_t a_step,
                                 const float* HWY_RESTRICT b, float* HWY_RESTRICT c, Out out) {
  const DF d;
  const int64_t lanes = vector_lanes();
  VF sum[kRows][kVecs];
  CHIARO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    CHIARO_UNROLL
    for (int v = 0; v < kVecs; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < depth; ++k) {
    VF bv[kVecs];
    CHIARO_UNROLL
    for (int v = 0; v < kVecs; ++v) bv[v] = hn::LoadU(d, b + v * lanes);
    b += kVecs * lanes;
    CHIARO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const VF av = hn::Set(d, a[r]);
      CHIARO_UNROLL
      for (int v = 0; v < kVecs; ++v) sum[r][v] = hn::MulAdd(av, bv[v], sum[r][v]);
    }
    a += a_step;
  }
  finish_tile<kRows, kVecs>(sum, c, out);
}

// c[r][width] of r < rows, rows of a in tiles [kMr][depth][kMr]: tile r / kMr at r * depth, the last as wide as it has
// rows.
template <int kVecs, class Out>
HWY_INLINE void attention_product(int64_t rows, int64_t depth, const float* a, const float* b, float* c, Out out) {
  const int64_t width = kVecs * vector_lanes();
  int64_t r = 0;
  for (; r + kMr <= rows; r += kMr) {
    attention_tile<kMr, kVecs>(depth, a + r * depth, kMr, b, c + r * width, out);
  }
  const float* tile = a + r * depth;
  const int64_t left = rows - r;
  c += r * width;
  const auto part = [&](int64_t at) HWY_ATTR { return c + at * width; };
  int64_t at = 0;
  if constexpr (kMr > 8) {
    if (left - at >= 8) {
      attention_tile<8, kVecs>(depth, tile + at, left, b, part(at), out);
      at += 8;
    }
  }
  if (left - at >= 4) {
    attention_tile<4, kVecs>(depth, tile + at, left, b, part(at), out);
    at += 4;
  }
  if (left - at >= 2) {
    attention_tile<2, kVecs>(depth, tile + at, left, b, part(at), out);
    at += 2;
  }
  if (left > at) attention_tile<1, kVecs>(depth, tile + at, left, b, part(at), out);
}

// Scores that are not plain products: a bias in natural powers, [count] or [count][width], and keys behind a row's own.
struct ScoreMask {
  const float* bias = nullptr;
  bool bias_of_rows = false;  // [count][width], else one number for all rows
  bool causal = false;
  int64_t row = 0;  // of the first lane, counted from the block's first key
};

template <int kVecs>
HWY_INLINE void mask_scores(const ScoreMask& mask, int64_t count, float* scores, float* highest) {
  const DF d;
  const int64_t lanes = vector_lanes();
  const VF lowest = hn::Set(d, -std::numeric_limits<float>::infinity()), log4_e = hn::Set(d, kLog4E);
  for (int v = 0; v < kVecs; ++v) {
    const VF row = hn::Iota(d, static_cast<float>(v * lanes));
    VF most = lowest;
    for (int64_t j = 0; j < count; ++j) {
      float* p = scores + (j * kVecs + v) * lanes;
      VF s = hn::LoadU(d, p);
      if (mask.bias != nullptr) {
        const VF bias =
            mask.bias_of_rows ? hn::LoadU(d, mask.bias + (j * kVecs + v) * lanes) : hn::Set(d, mask.bias[j]);
        s = hn::MulAdd(bias, log4_e, s);
      }
      if (mask.causal) s = hn::IfThenElse(hn::Lt(row, hn::Set(d, static_cast<float>(j - mask.row))), lowest, s);
      hn::StoreU(s, d, p);
      most = hn::Max(most, s);
    }
    hn::StoreU(most, d, highest + v * lanes);
  }
}

// What is kept of a panel from block to block of keys, [width] each, and what a block leaves for the next product.
struct PanelState {
  float *peak, *total;
  float *highest, *factor;
};

// Scores become 4^(score - peak); total is brought up to date, factor is what earlier sums are to be multiplied by.
template <int kVecs>
HWY_INLINE void weigh_scores(int64_t count, bool first, float* scores, const PanelState& state) {
  const DF d;
  const int64_t lanes = vector_lanes();
  const VF lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  VF shift[kVecs], sum[kVecs];
  for (int v = 0; v < kVecs; ++v) {
    const VF before = first ? lowest : hn::LoadU(d, state.peak + v * lanes);
    const VF after = hn::Max(before, hn::LoadU(d, state.highest + v * lanes));
    // Where nothing was visible yet, subtract 0: 4^-inf is 0, not the NaN of (-inf) - (-inf).
    shift[v] = hn::IfThenZeroElse(hn::Eq(after, lowest), after);
    sum[v] = hn::Zero(d);
    hn::StoreU(after, d, state.peak + v * lanes);
    hn::StoreU(exp4_below_one(hn::Sub(before, shift[v])), d, state.factor + v * lanes);
  }
  for (int64_t j = 0; j < count; ++j) {
    for (int v = 0; v < kVecs; ++v) {
      float* p = scores + (j * kVecs + v) * lanes;
      const VF e = exp4_below_one(hn::Sub(hn::LoadU(d, p), shift[v]));
      hn::StoreU(e, d, p);
      sum[v] = hn::Add(sum[v], e);
    }
  }
  for (int v = 0; v < kVecs; ++v) {
    float* total = state.total + v * lanes;
    if (!first) sum[v] = hn::MulAdd(hn::LoadU(d, total), hn::LoadU(d, state.factor + v * lanes), sum[v]);
    hn::StoreU(sum[v], d, total);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
