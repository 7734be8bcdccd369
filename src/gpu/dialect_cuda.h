// The dialect as CUDA C++. A generated .cu file includes a kernel.gpu once per variant, each time in a namespace of its
// own with GPU_FC_<n> (the values of its constants) and GPU_SUFFIX (the end of its kernels' names) defined.
#pragma once

#include <cuda_fp16.h>
#include <stdint.h>

typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;

#define GPU_FN static __device__ __forceinline__
#define GPU_WHERE
#define GPU_AT(i) (i)
#define DEVICE_PTR(T) T*
#define GROUP_PTR(T) T*
#define CONSTANT_REF(T) const T&
#define THREAD_REF(T) T&
#define THREAD_PTR(T) T*
#define DEVICE_PTR_CAST(T, p) (reinterpret_cast<T*>(p))
#define GROUP_PTR_CAST(T, p) (reinterpret_cast<T*>(p))
#define GROUP_ARRAY(T, name, n) __shared__ __align__(16) T name[n]
#define GPU_CONST(T, name) constexpr T name
#define GPU_CAT2(a, b) a##b
#define GPU_CAT(a, b) GPU_CAT2(a, b)
#define GPU_CONSTANT(T, name, n) static constexpr T name = T(GPU_FC_##n)

#define GPU_IN(T, name, n) const T* name
#define GPU_OUT(T, name, n) T* name
#define GPU_IN_ANY(name, n) const uchar* name
#define GPU_OUT_ANY(name, n) uchar* name
#define GPU_ARGS(T, name, n) const __grid_constant__ T name
#define GPU_KERNEL(name, needs, group_bytes, ...) extern "C" __global__ void GPU_CAT(name, GPU_SUFFIX)(__VA_ARGS__)
#define GPU_KERNELS(op, ...)
#define gpu_thread (threadIdx.x)
#define gpu_threads (blockDim.x)
#define gpu_group blockIdx
#define gpu_groups gridDim
#define gpu_lane (threadIdx.x & 31u)
#define gpu_simd (threadIdx.x >> 5)
#define gpu_simds ((blockDim.x + 31u) >> 5)

namespace chiaro {}
using namespace chiaro;

GPU_FN float bits_to_float(uint u) {
  return __uint_as_float(u);
}
GPU_FN uint float_to_bits(float f) {
  return __float_as_uint(f);
}
GPU_FN half bits_to_half(uint u) {
  return __ushort_as_half(static_cast<ushort>(u));
}

struct __align__(8) half4 {
  half x, y, z, w;
};
GPU_FN float4 to_float4(half4 v) {
  return make_float4(float(v.x), float(v.y), float(v.z), float(v.w));
}
GPU_FN half4 to_half4(float4 v) {
  return {half(v.x), half(v.y), half(v.z), half(v.w)};
}

#define GPU_CUDA_VECTOR_OP(op)                                          \
  GPU_FN float4 operator op(float4 a, float4 b) {                       \
    return make_float4(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w); \
  }                                                                     \
  GPU_FN float4 operator op(float4 a, float b) {                        \
    return make_float4(a.x op b, a.y op b, a.z op b, a.w op b);         \
  }                                                                     \
  GPU_FN float2 operator op(float2 a, float2 b) {                       \
    return make_float2(a.x op b.x, a.y op b.y);                         \
  }                                                                     \
  GPU_FN float2 operator op(float2 a, float b) {                        \
    return make_float2(a.x op b, a.y op b);                             \
  }
GPU_CUDA_VECTOR_OP(+)
GPU_CUDA_VECTOR_OP(-)
GPU_CUDA_VECTOR_OP(*)
GPU_CUDA_VECTOR_OP(/)
GPU_FN float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
GPU_FN float clamp(float v, float low, float high) {
  return fminf(fmaxf(v, low), high);
}
GPU_FN int clamp(int v, int low, int high) {
  return min(max(v, low), high);
}
GPU_FN uint clamp(uint v, uint low, uint high) {
  return min(max(v, low), high);
}

// Barriers and simdgroup operations ----------------------------------------------------------------------------------

enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_device_and_threadgroup = 3 };
GPU_FN mem_flags operator|(mem_flags a, mem_flags b) {
  return mem_flags(int(a) | int(b));
}
GPU_FN void threadgroup_barrier(mem_flags) {
  __syncthreads();
}
GPU_FN void simdgroup_barrier(mem_flags) {
  __syncwarp();
}
template <class T>
GPU_FN T simd_shuffle(T v, ushort lane) {
  return __shfl_sync(0xFFFFFFFFu, v, lane);
}
template <class T>
GPU_FN T simd_shuffle_xor(T v, ushort mask) {
  return __shfl_xor_sync(0xFFFFFFFFu, v, mask);
}
template <class T>
GPU_FN T simd_broadcast(T v, ushort lane) {
  return __shfl_sync(0xFFFFFFFFu, v, lane);
}
#define GPU_CUDA_REDUCE(name, expression)             \
  template <class T>                                  \
  GPU_FN T name(T a) {                                \
    for (int o = 16; o > 0; o >>= 1) {                \
      const T b = __shfl_xor_sync(0xFFFFFFFFu, a, o); \
      a = expression;                                 \
    }                                                 \
    return a;                                         \
  }
GPU_CUDA_REDUCE(simd_sum, a + b)
GPU_CUDA_REDUCE(simd_max, max(a, b))
GPU_CUDA_REDUCE(simd_min, min(a, b))

// 8x8 matrices: lane l holds row l / 4, columns l % 4 * 2 and the next. Products go through shuffles: right on every
// GPU, not fast; a tuned matrix product on CUDA is another candidate.
template <class T>
struct GpuSimdMatrix {
  T v[2];
};
#define SIMD_MATRIX(T) GpuSimdMatrix<T>
#define SIMD_MATRIX_ZERO(T) \
  GpuSimdMatrix<T> {        \
    { T(0), T(0) }          \
  }
template <class T, class U>
GPU_FN void simdgroup_load(GpuSimdMatrix<T>& m, const U* p, uint row) {
  const uint at = gpu_lane / 4u * row + gpu_lane % 4u * 2u;
  m.v[0] = p[at];
  m.v[1] = p[at + 1];
}
template <class T, class U>
GPU_FN void simdgroup_store(const GpuSimdMatrix<T>& m, U* p, uint row) {
  const uint at = gpu_lane / 4u * row + gpu_lane % 4u * 2u;
  p[at] = m.v[0];
  p[at + 1] = m.v[1];
}
template <class T>
GPU_FN void simdgroup_multiply_accumulate(GpuSimdMatrix<float>& d, const GpuSimdMatrix<T>& a, const GpuSimdMatrix<T>& b,
                                          const GpuSimdMatrix<float>& c) {
  float v0 = c.v[0], v1 = c.v[1];
  for (uint k = 0; k < 8; ++k) {
    const float a_k = __shfl_sync(0xFFFFFFFFu, float(a.v[k & 1u]), (gpu_lane & ~3u) | (k >> 1));
    const uint from = k * 4u + (gpu_lane & 3u);
    v0 = fmaf(a_k, __shfl_sync(0xFFFFFFFFu, float(b.v[0]), from), v0);
    v1 = fmaf(a_k, __shfl_sync(0xFFFFFFFFu, float(b.v[1]), from), v1);
  }
  d.v[0] = v0;
  d.v[1] = v1;
}
