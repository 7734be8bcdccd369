// The dialect as Metal Shading Language (2.4 and later). Only text: it is preprocessed when the engine is built,
// without any system header, and <metal_stdlib> goes in front of the result.
#pragma once

#define GPU_FN static inline
#define GPU_WHERE
#define GPU_AT(i) (i)
#define DEVICE_PTR(T) device T*
#define GROUP_PTR(T) threadgroup T*
#define CONSTANT_REF(T) constant T&
#define THREAD_REF(T) thread T&
#define THREAD_PTR(T) thread T*
#define DEVICE_PTR_CAST(T, p) ((device T*)(p))
#define GROUP_PTR_CAST(T, p) ((threadgroup T*)(p))
#define GROUP_ARRAY(T, name, n) threadgroup T name[n]
#define GPU_CONST(T, name) constant constexpr T name
#define GPU_CONSTANT(T, name, n) constant T name [[function_constant(n)]]

#define GPU_IN(T, name, n) device const T* name [[buffer(n)]]
#define GPU_OUT(T, name, n) device T* name [[buffer(n)]]
#define GPU_IN_ANY(name, n) device const uchar* name [[buffer(n)]]
#define GPU_OUT_ANY(name, n) device uchar* name [[buffer(n)]]
#define GPU_ARGS(T, name, n) constant T& name [[buffer(n)]]
#define GPU_KERNEL(name, needs, group_bytes, ...)                                                                    \
  kernel void name(__VA_ARGS__, uint gpu_thread [[thread_index_in_threadgroup]],                                     \
                   uint3 gpu_group [[threadgroup_position_in_grid]], uint3 gpu_threads3 [[threads_per_threadgroup]], \
                   uint3 gpu_groups [[threadgroups_per_grid]], uint gpu_lane [[thread_index_in_simdgroup]],          \
                   uint gpu_simd [[simdgroup_index_in_threadgroup]])
#define GPU_KERNELS(op, ...)
#define gpu_threads (gpu_threads3.x)
#define gpu_simds ((gpu_threads3.x + 31u) / 32u)

namespace chiaro {}
using namespace chiaro;

#define bits_to_float(u) (as_type<float>(u))
#define float_to_bits(f) (as_type<uint>(f))
#define bits_to_half(u) (as_type<half>(ushort(u)))

GPU_FN float2 make_float2(float x, float y) {
  float2 r = {x, y};
  return r;
}
GPU_FN float4 make_float4(float x, float y, float z, float w) {
  float4 r = {x, y, z, w};
  return r;
}
GPU_FN float4 to_float4(half4 v) {
  return make_float4(float(v.x), float(v.y), float(v.z), float(v.w));
}
GPU_FN half4 to_half4(float4 v) {
  half4 r = {half(v.x), half(v.y), half(v.z), half(v.w)};
  return r;
}

// SIMD_MATRIX(T) m: an 8x8 matrix spread over a simdgroup. simdgroup_load(m, pointer, elements a row),
// simdgroup_store(m, pointer, elements a row), simdgroup_multiply_accumulate(d, a, b, c): d = a * b + c.
#define SIMD_MATRIX(T) simdgroup_matrix<T, 8, 8>
#define SIMD_MATRIX_ZERO(T) make_filled_simdgroup_matrix<T, 8, 8>(T(0))
