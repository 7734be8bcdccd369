// Activations in kernels. ACT is a function constant with the value of chiaro::Activation, so that the compiler keeps
// one branch.
#pragma once

#include "gpu/dialect.h"

#define GPU_ACT_NONE 0u
#define GPU_ACT_RELU 1u
#define GPU_ACT_SILU 2u
#define GPU_ACT_GELU 3u
#define GPU_ACT_GELU_TANH 4u
#define GPU_ACT_QUICK_GELU 5u
#define GPU_ACT_SIGMOID 6u
#define GPU_ACT_TANH 7u

// exp(-x * x) * P(t), t = 2 / (2 + |x|), P fitted by tools/gpu/fit_erfc.py (Chebyshev nodes in t, relative error of
// erfc below 3e-7 in f32); reflected for x < 0. Metal has no erf.
// Near 0 it is 1 - erf by the series of erf, whose next term is below 2e-8: there every error of exp (CUDA: 2 ulp)
// would be one of the result, which is as good as 1.
GPU_FN float gpu_erfc(float x) {
  const float z = x * x;
  if (z < 0.25f) {
    float e = -0.000854832701f;
    e = fma(e, z, 0.00522397762f);
    e = fma(e, z, -0.0268661706f);
    e = fma(e, z, 0.112837917f);
    e = fma(e, z, -0.376126389f);
    e = fma(e, z, 1.12837917f);
    return fma(-x, e, 1.0f);
  }
  const float a = fabs(x);
  const float t = 2.0f / (2.0f + a);
  float p = 0.0212238411f;
  p = fma(p, t, -0.100274279f);
  p = fma(p, t, 0.130854454f);
  p = fma(p, t, 0.113546966f);
  p = fma(p, t, -0.441084923f);
  p = fma(p, t, 0.330429024f);
  p = fma(p, t, -0.0882966909f);
  p = fma(p, t, 0.233406568f);
  p = fma(p, t, 0.234430353f);
  p = fma(p, t, 0.283799824f);
  p = fma(p, t, 0.281960225f);
  p = fma(p, t, 4.64043722e-06f);
  const float square = a * a;
  const float rest = fma(a, a, -square);  // what the square lost: matters where the result is small
  const float tail = p * (exp(-square) * (1.0f - rest));
  return x < 0.0f ? 2.0f - tail : tail;
}

GPU_FN float activate(uint act, float x) {
  if (act == GPU_ACT_RELU) return x < 0.0f ? 0.0f : x;
  if (act == GPU_ACT_SILU) return x / (1.0f + exp(-x));
  if (act == GPU_ACT_GELU) return x * (0.5f * gpu_erfc(-x * 0.70710678f));
  if (act == GPU_ACT_GELU_TANH) return x / (1.0f + exp(-1.5957691f * (x + 0.044715f * x * x * x)));
  if (act == GPU_ACT_QUICK_GELU) return x / (1.0f + exp(-1.702f * x));
  if (act == GPU_ACT_SIGMOID) return 1.0f / (1.0f + exp(-x));
  if (act == GPU_ACT_TANH) return tanh(x);
  return x;
}
