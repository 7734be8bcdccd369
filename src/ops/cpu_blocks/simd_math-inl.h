// Vector exp, erf, tanh and the activations, for one Highway target. Include after hwy/foreach_target.h.
//
// Every function is a fixed sequence of lane-wise operations: a lane's result depends on its input alone, never on its
// position or on tail handling (tails run the same code on a padded vector, see map_f32). The polynomials of
// tanh and erf are the single precision ones of Cephes (Moshier 1989): tanhf, ndtrf; those of exp and gelu are minimax
// fits of this project (weighted least squares, reweighted after Lawson 1961).

#if defined(CHIARO_SIMD_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CHIARO_SIMD_MATH_INL_H
#undef CHIARO_SIMD_MATH_INL_H
#else
#define CHIARO_SIMD_MATH_INL_H
#endif

#include <cstddef>
#include <cstring>

#include "hwy/highway.h"
#include "ops/activation.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;

// Not below, and not above, a bound that is a number; NaN stays NaN. Of NaN and a number x86 takes the second operand,
// Highway on Arm the number.
HWY_INLINE VF at_least(VF bound, VF x) {
#if HWY_TARGET == HWY_NEON
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#else
  return hn::Max(bound, x);
#endif
}
HWY_INLINE VF at_most(VF bound, VF x) {
#if HWY_TARGET == HWY_NEON
  return hn::IfThenElse(hn::Gt(x, bound), bound, x);
#else
  return hn::Min(bound, x);
#endif
}

// Horner's rule, highest coefficient first.
template <size_t N>
HWY_INLINE VF polynomial(VF x, const float (&c)[N]) {
  const DF d;
  VF p = hn::Set(d, c[0]);
  for (size_t i = 1; i < N; ++i) p = hn::MulAdd(p, x, hn::Set(d, c[i]));
  return p;
}

// e^x for |x| <= 160: |r| <= ln(2) / 2, a minimax polynomial (relative error 3e-9, 1 and r fixed) and a shift of the
// exponent by n; overflow gives inf, subnormal results are rounded once. NaN stays NaN.
HWY_INLINE VF exp_reduced(VF x) {
  const DF d;
  static constexpr float kPoly[] = {
      1.3814432633e-3f, 8.3687967417e-3f, 4.1668395807e-2f, 1.6666519973e-1f, 4.9999993403e-1f, 1.0f, 1.0f};
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  const VF shift = hn::Set(d, 12582912.0f);
  const VF shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896341f), shift);
  const VF n = hn::Sub(shifted, shift);
  VF r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);  // n * high part of ln 2 is exact
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  const VF e = polynomial(r, kPoly);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return VF{_mm512_scalef_ps(e.raw, n.raw)};
#else
  // 2^n in two factors, as n reaches from -231 to 231.
  const DI di;
  const auto whole = hn::Sub(hn::BitCast(di, shifted), hn::Set(di, 0x4B400000));
  const auto half = hn::ShiftRight<1>(whole);
  const auto bias = hn::Set(di, 127);
  const VF s1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const VF s2 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(whole, half), bias)));
  return hn::Mul(hn::Mul(e, s1), s2);
#endif
}

// e^x, within 2 ulp over the whole range including subnormal results; e^-inf = 0, overflow gives inf, NaN stays NaN.
HWY_INLINE VF exp_f32(VF x) {
  const DF d;
  return exp_reduced(at_most(hn::Set(d, 89.0f), at_least(hn::Set(d, -104.0f), x)));
}

HWY_INLINE VF tanh_f32(VF x) {
  const DF d;
  static constexpr float kPoly[] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f,
                                    -3.33332819422e-1f};
  const VF one = hn::Set(d, 1.0f);
  const VF a = hn::Abs(x);
  const VF square = hn::Mul(x, x);
  const VF small = hn::MulAdd(hn::Mul(polynomial(square, kPoly), square), x, x);
  const VF large = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(exp_f32(hn::Add(a, a)), one)));
  return hn::CopySign(hn::IfThenElse(hn::Lt(a, hn::Set(d, 0.625f)), small, large), x);
}

// erf(|x|) for |x| < 1 (as `inner`) and erfc(|x|) for |x| >= 1 (as `outer`); the other one of the two is meaningless.
HWY_INLINE void erf_parts(VF x, VF& inner, VF& outer) {
  const DF d;
  static constexpr float kInner[] = {7.853861353153693e-5f,  -8.010193625184903e-4f, 5.188327685732524e-3f,
                                     -2.685381193529856e-2f, 1.128358514861418e-1f,  -3.761262582423300e-1f,
                                     1.128379165726710e+0f};
  static constexpr float kMiddle[] = {2.326819970068386e-2f,  -1.387039388740657e-1f, 3.687424674597105e-1f,
                                      -5.824733027278666e-1f, 6.210004621745983e-1f,  -4.944515323274145e-1f,
                                      3.404879937665872e-1f,  -2.741127028184656e-1f, 5.638259427386472e-1f};
  static constexpr float kOuter[] = {-1.047766399936249e+1f, 1.297719955372516e+1f,  -7.495518717768503e+0f,
                                     2.921019019210786e+0f,  -1.015265279202700e+0f, 4.218463358204948e-1f,
                                     -2.820767439740514e-1f, 5.641895067754075e-1f};
  const VF a = hn::Abs(x);
  const VF square = hn::Mul(x, x);
  inner = hn::Mul(a, polynomial(square, kInner));
  const VF safe = at_least(hn::Set(d, 1.0f), a);
  const VF reciprocal = hn::Div(hn::Set(d, 1.0f), safe);
  const VF y = hn::Mul(reciprocal, reciprocal);
  const VF p = hn::IfThenElse(hn::Lt(a, hn::Set(d, 2.0f)), polynomial(y, kMiddle), polynomial(y, kOuter));
  outer = hn::Mul(hn::Mul(exp_f32(hn::Neg(square)), reciprocal), p);
}

HWY_INLINE VF erf_f32(VF x) {
  const DF d;
  VF inner, outer;
  erf_parts(x, inner, outer);
  const VF one = hn::Set(d, 1.0f);
  const VF magnitude = hn::IfThenElse(hn::Lt(hn::Abs(x), one), inner, hn::Sub(one, outer));
  return hn::IfThenElse(hn::Eq(x, x), hn::CopySign(magnitude, x), x);
}

HWY_INLINE VF sigmoid_f32(VF x) {
  const DF d;
  const VF one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exp_f32(hn::Neg(x))));
}

// x sigmoid(y).
HWY_INLINE VF times_sigmoid(VF x, VF y) {
  const DF d;
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), exp_f32(hn::Neg(y))));
}

// The same for results that are rounded to f16: relative error 7e-6, a hundredth of what that rounding makes. e^-y as a
// power of two: the constant's rounding is paid with digits that f16 has not, and the minimax polynomial has degree 4.
// From y = -88.4 down the power is inf, from 87 up it stays where 1 swallows it.
HWY_INLINE VF times_sigmoid_f16(VF x, VF y) {
  const DF d;
  static constexpr float kPoly[] = {9.582853276683392e-3f, 5.590642562618667e-2f, 2.402409861293006e-1f,
                                    6.931241933007128e-1f, 1.0f};
  const VF log2_e = hn::Set(d, -1.44269504088896341f), magic = hn::Set(d, 12583039.0f);
  const VF clamped = at_most(hn::Set(d, 87.0f), at_least(hn::Set(d, -89.0f), y));
  // Adding 1.5 * 2^23 + 127 rounds to n, and leaves n + 127, the exponent of 2^n, in the lowest bits.
  const VF shifted = hn::MulAdd(clamped, log2_e, magic);
  const VF r = hn::MulSub(clamped, log2_e, hn::Sub(shifted, magic));
  const VF power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(DI(), shifted)));
  return hn::Div(x, hn::MulAdd(polynomial(r, kPoly), power, hn::Set(d, 1.0f)));
}

// x Phi(x) = max(x, 0) - q, q = |x| Phi(-|x|) = |x| e^(-x^2 / 2) R(|x|). No digits cancel: q is less than half of a
// positive x, and is the whole result for a negative one. R(a) = erfcx(a / sqrt 2) / 2 is smooth: a minimax quotient on
// [0, 14.5] (relative error 6e-9, all coefficients positive); beyond, e^(-x^2 / 2) is 0 in f32.
HWY_INLINE VF gelu_f32(VF x) {
  const DF d;
  static constexpr float kAbove[] = {4.116294253e-3f, 4.063313591e-2f, 1.832348845e-1f, 4.382946327e-1f,
                                     5.000000030e-1f};
  static constexpr float kBelow[] = {1.031789982e-2f, 1.018586145e-1f, 4.694699570e-1f,
                                     1.202502128e+0f, 1.674474247e+0f, 1.0f};
  const VF a = at_most(hn::Set(d, 15.0f), hn::Abs(x));
  const VF e = exp_reduced(hn::Mul(hn::Mul(a, a), hn::Set(d, -0.5f)));
  const VF above = hn::Mul(hn::Mul(a, e), polynomial(a, kAbove));
  return hn::Sub(at_least(hn::Zero(d), x), hn::Div(above, polynomial(a, kBelow)));
}

// gelu_tanh uses (1 + tanh u) / 2 = sigmoid(2 u).
HWY_INLINE VF gelu_tanh_f32(VF x) {
  const DF d;
  const VF cubic = hn::MulAdd(hn::Mul(hn::Mul(x, x), hn::Set(d, 0.044715f)), x, x);
  return times_sigmoid(x, hn::Mul(cubic, hn::Set(d, 1.59576912160573071176f)));
}

// Calls f(VF) -> VF on n floats; `in` may equal `out`. The tail runs on a zero-padded vector through the same code.
template <class F>
HWY_INLINE void map_f32(const float* in, float* out, size_t n, F f) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, in + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN float tail[hn::MaxLanes(d)] = {};
  std::memcpy(tail, in + i, (n - i) * sizeof(float));
  hn::Store(f(hn::Load(d, tail)), d, tail);
  std::memcpy(out + i, tail, (n - i) * sizeof(float));
}

struct Identity {
  HWY_INLINE VF operator()(VF x) const { return x; }
};
struct ReluVector {
  HWY_INLINE VF operator()(VF x) const { return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(DF())), x); }
};
struct SiluVector {
  HWY_INLINE VF operator()(VF x) const { return times_sigmoid(x, x); }
};
struct SiluF16Vector {
  HWY_INLINE VF operator()(VF x) const { return times_sigmoid_f16(x, x); }
};
struct GeluVector {
  HWY_INLINE VF operator()(VF x) const { return gelu_f32(x); }
};
struct GeluTanhVector {
  HWY_INLINE VF operator()(VF x) const { return gelu_tanh_f32(x); }
};
struct QuickGeluVector {
  HWY_INLINE VF operator()(VF x) const { return times_sigmoid(x, hn::Mul(x, hn::Set(DF(), 1.702f))); }
};
struct SigmoidVector {
  HWY_INLINE VF operator()(VF x) const { return sigmoid_f32(x); }
};
struct TanhVector {
  HWY_INLINE VF operator()(VF x) const { return tanh_f32(x); }
};

// Calls visit(f) with the function VF -> VF of an activation.
template <class Visit>
HWY_INLINE void with_activation(Activation activation, const Visit& visit) {
  switch (activation) {
    case Activation::none: return visit(Identity{});
    case Activation::relu: return visit(ReluVector{});
    case Activation::silu: return visit(SiluVector{});
    case Activation::gelu: return visit(GeluVector{});
    case Activation::gelu_tanh: return visit(GeluTanhVector{});
    case Activation::quick_gelu: return visit(QuickGeluVector{});
    case Activation::sigmoid: return visit(SigmoidVector{});
    case Activation::tanh: return visit(TanhVector{});
  }
}

HWY_MAYBE_UNUSED static HWY_NOINLINE void activate_row(Activation activation, const float* in, float* out, size_t n) {
  if (activation == Activation::none && in == out) return;
  with_activation(activation, [=](auto f) HWY_ATTR { map_f32(in, out, n, f); });
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
