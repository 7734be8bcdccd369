// Reductions over a threadgroup, each in two ways: with simdgroup operations, and through threadgroup memory alone for
// GPUs without them. A kernel picks by the type of the first argument, so that the text of the second way never holds
// an instruction of the first.
//
// `red`: threadgroup memory, 32 floats for SimdReduce, one per thread for SharedReduce. All threads call; all get the
// result. The barrier at the start lets calls follow each other with the same memory.
#pragma once

#include "gpu/dialect.h"

struct SimdReduce {};
struct SharedReduce {};

GPU_FN float group_sum(SimdReduce, float v, GROUP_PTR(float) red, uint tid, uint threads) {
  const uint lane = tid % 32u;
  v = simd_sum(v);
  threadgroup_barrier(mem_flags::mem_threadgroup);  // the last call's result is read out
  if (lane == 0u) red[tid / 32u] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  v = lane < threads / 32u ? float(red[lane]) : 0.0f;
  return simd_sum(v);
}
GPU_FN float group_sum(SharedReduce, float v, GROUP_PTR(float) red, uint tid, uint threads) {
  threadgroup_barrier(mem_flags::mem_threadgroup);  // the last call's result is read out
  red[tid] = v;
  for (uint n = threads; n > 1u;) {  // any number of threads: the upper part is added to the lower one
    const uint half_n = (n + 1u) / 2u;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid < n - half_n) red[tid] += red[tid + half_n];
    n = half_n;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return red[0];
}

GPU_FN float group_max(SimdReduce, float v, GROUP_PTR(float) red, uint tid, uint threads) {
  const uint lane = tid % 32u;
  v = simd_max(v);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lane == 0u) red[tid / 32u] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  v = float(red[lane < threads / 32u ? lane : 0u]);
  return simd_max(v);
}
GPU_FN float group_max(SharedReduce, float v, GROUP_PTR(float) red, uint tid, uint threads) {
  threadgroup_barrier(mem_flags::mem_threadgroup);
  red[tid] = v;
  for (uint n = threads; n > 1u;) {
    const uint half_n = (n + 1u) / 2u;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid < n - half_n) red[tid] = max(float(red[tid]), float(red[tid + half_n]));
    n = half_n;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return red[0];
}
