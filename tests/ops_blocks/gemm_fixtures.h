// A matrix product or convolution over strided tensors, run by gemm() and checked against double loops.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "block_fixtures.h"
#include "ops/cpu_blocks/gemm.h"
#include "ops/cpu_blocks/simd_targets.h"
// The targets of the kernels, not of this file alone.
#include <hwy/targets.h>

namespace chiaro::gemm_test {

using blocks_test::make_strided;
using blocks_test::PoisonedScratch;
using blocks_test::random_strided;
using blocks_test::Strided;

struct Sizes {
  int64_t batch = 1, in_h = 1, in_w = 1, channels = 1, n = 1, kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1, pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0, dilation = 1;
  DType a_type = DType::f32, b_type = DType::f32, out_type = DType::f32, extra_type = DType::f32;
  std::vector<int> a_order{0, 1, 2, 3}, b_order{0, 1, 2, 3}, out_order{0, 1, 2, 3};
  int64_t a_gap = 1, b_gap = 1, out_gap = 1;
  bool bias = false, residual = false, packed = false;
  Activation activation = Activation::none;
  int threads = 1;
  int64_t out_h() const { return (in_h + pad_top + pad_bottom - dilation * (kh - 1) - 1) / stride_h + 1; }
  int64_t out_w() const { return (in_w + pad_left + pad_right - dilation * (kw - 1) - 1) / stride_w + 1; }
  int64_t k() const { return kh * kw * channels; }
};

struct Tensors {
  Strided a, b, bias, residual, out;
};

inline Tensors make_tensors(const Sizes& s, uint32_t seed) {
  Tensors t;
  const Shape out_shape{s.batch, s.out_h(), s.out_w(), s.n};
  t.a = random_strided(s.a_type, {s.batch, s.in_h, s.in_w, s.channels}, s.a_order, s.a_gap, seed);
  t.b = random_strided(s.b_type, {s.n, s.channels, s.kh, s.kw}, s.b_order, s.b_gap, seed + 1);
  t.bias = random_strided(s.extra_type, {s.n}, {0}, 2, seed + 2);
  t.residual = random_strided(s.extra_type, out_shape, s.out_order, 1, seed + 3);
  t.out = make_strided(s.out_type, out_shape, s.out_order, s.out_gap);
  return t;
}

inline GemmMap map_of(const TensorDesc& d) {
  return {d.dtype, d.strides[0], d.strides[1], d.strides[2], d.strides[3]};
}

// All of a problem but A. The weight is [n,channels,kh,kw], the bias every second element; null: none.
inline void set_operands(GemmProblem& p, Strided& weight, Strided* bias, Strided* residual, Strided& out) {
  p.n = weight.desc.shape[0];
  const auto& strides = weight.desc.strides;
  p.b.data = weight.data();
  p.b.dtype = weight.desc.dtype;
  p.b.n_stride = strides[0];
  p.b.c_stride = strides[1];
  p.b.ky_stride = strides[2];
  p.b.kx_stride = strides[3];
  p.bias_stride = 2;
  if (bias != nullptr) {
    p.bias = bias->data();
    p.bias_dtype = bias->desc.dtype;
  }
  if (residual != nullptr) {
    p.residual = residual->data();
    p.residual_map = map_of(residual->desc);
  }
  p.out = out.data();
  p.out_map = map_of(out.desc);
}

inline GemmProblem problem_of(const Sizes& s, Tensors& t) {
  GemmProblem p;
  p.batch = s.batch;
  const auto& as = t.a.desc.strides;
  p.a = {t.a.data(), s.a_type,   as[0],      as[1],     as[2],      as[3],      s.in_h,     s.in_w,    s.channels, s.kh,
         s.kw,       s.stride_h, s.stride_w, s.pad_top, s.pad_left, s.dilation, s.dilation, s.out_h(), s.out_w()};
  p.activation = s.activation;
  set_operands(p, t.b, s.bias ? &t.bias : nullptr, s.residual ? &t.residual : nullptr, t.out);
  return p;
}

inline void run(const Sizes& s, Tensors& t) {
  GemmProblem p = problem_of(s, t);
  ThreadPool pool(s.threads);
  std::vector<std::byte> packed(gemm_packed_b_bytes(p), std::byte{0xFF});
  if (s.packed) {
    gemm_pack_b(p, packed.data(), pool);
    p.b.packed = packed.data();
    p.b.data = nullptr;
  }
  PoisonedScratch scratch(gemm_scratch_bytes(p.m(), s.n, s.k(), s.threads, s.packed));
  gemm(p, scratch.data(), pool);
  ASSERT_TRUE(scratch.guard_intact());
}

inline double window_sum(const Sizes& s, const Tensors& t, int64_t b, int64_t oy, int64_t ox, int64_t n,
                         double* magnitude) {
  const auto& as = t.a.desc.strides;
  const auto& bs = t.b.desc.strides;
  double sum = 0;
  for (int64_t ky = 0; ky < s.kh; ++ky) {
    for (int64_t kx = 0; kx < s.kw; ++kx) {
      const int64_t y = oy * s.stride_h - s.pad_top + ky * s.dilation;
      const int64_t x = ox * s.stride_w - s.pad_left + kx * s.dilation;
      if (y < 0 || y >= s.in_h || x < 0 || x >= s.in_w) continue;
      for (int64_t c = 0; c < s.channels; ++c) {
        const double product = t.a.at(b * as[0] + y * as[1] + x * as[2] + c * as[3]) *
                               t.b.at(n * bs[0] + c * bs[1] + ky * bs[2] + kx * bs[3]);
        sum += product;
        *magnitude += std::fabs(product);
      }
    }
  }
  return sum;
}

inline void check(const Sizes& s, uint32_t seed = 1) {
  Tensors t = make_tensors(s, seed);
  run(s, t);
  const auto& os = t.out.desc.strides;
  const auto& rs = t.residual.desc.strides;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t y = 0; y < s.out_h(); ++y) {
      for (int64_t x = 0; x < s.out_w(); ++x) {
        for (int64_t n = 0; n < s.n; ++n) {
          double magnitude = 1;
          double want = window_sum(s, t, b, y, x, n, &magnitude);
          if (s.bias) want += t.bias.at(2 * n);
          want = activate(s.activation, want);
          if (s.residual) want += t.residual.at(b * rs[0] + y * rs[1] + x * rs[2] + n * rs[3]);
          const double got = t.out.at(b * os[0] + y * os[1] + x * os[2] + n * os[3]);
          const double allowed = 1e-6 * magnitude + epsilon(s.out_type) * std::fabs(want) + 1e-6;
          ASSERT_NEAR(got, want, allowed) << "b " << b << " y " << y << " x " << x << " n " << n << " k " << s.k();
        }
      }
    }
  }
}

inline Sizes matrix(int64_t m, int64_t n, int64_t k) {
  Sizes s;
  s.in_w = m;
  s.n = n;
  s.channels = k;
  return s;
}

// Runs f for every instruction set that this machine has and the kernels are compiled for: panels are as wide as its
// vectors.
template <class F>
void on_each_instruction_set(F f) {
  int sets = 0;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    ++sets;
    f();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  std::printf("%d instruction sets\n", sets);
}

}  // namespace chiaro::gemm_test
