// Types and functions of the dialect as the software GPU has them: plain C++, no contraction, no fast math. The names
// are Metal's.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>

#include "core/floats.h"
#include "gpu/soft/runtime.h"

namespace chiaro::gpu::soft::language {

using uint = uint32_t;
using ushort = uint16_t;
using uchar = uint8_t;

// Storage: converted explicitly, never computed with.
struct half {
  uint16_t bits;
  half() = default;
  explicit half(float v) : bits(f16_from_f32(v)) {}
  explicit operator float() const { return f32_from_f16(bits); }
};
struct alignas(8) half4 {
  half x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  uint x, y;
};
struct alignas(16) uint4 {
  uint x, y, z, w;
};

inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline float4 to_float4(half4 v) {
  return {float(v.x), float(v.y), float(v.z), float(v.w)};
}
inline half4 to_half4(float4 v) {
  return {half(v.x), half(v.y), half(v.z), half(v.w)};
}
inline float bits_to_float(uint u) {
  return std::bit_cast<float>(u);
}
inline uint float_to_bits(float f) {
  return std::bit_cast<uint>(f);
}
inline half bits_to_half(uint u) {
  half h;
  h.bits = static_cast<uint16_t>(u);
  return h;
}

#define CHIARO_GPU_VECTOR_OP(op)                             \
  inline float4 operator op(float4 a, float4 b) {            \
    return {a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w}; \
  }                                                          \
  inline float4 operator op(float4 a, float b) {             \
    return {a.x op b, a.y op b, a.z op b, a.w op b};         \
  }                                                          \
  inline float2 operator op(float2 a, float2 b) {            \
    return {a.x op b.x, a.y op b.y};                         \
  }                                                          \
  inline float2 operator op(float2 a, float b) {             \
    return {a.x op b, a.y op b};                             \
  }
CHIARO_GPU_VECTOR_OP(+)
CHIARO_GPU_VECTOR_OP(-)
CHIARO_GPU_VECTOR_OP(*)
CHIARO_GPU_VECTOR_OP(/)
#undef CHIARO_GPU_VECTOR_OP
inline float dot(float4 a, float4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

#define CHIARO_GPU_COMMON(T)           \
  inline T min(T a, T b) {             \
    return b < a ? b : a;              \
  }                                    \
  inline T max(T a, T b) {             \
    return a < b ? b : a;              \
  }                                    \
  inline T clamp(T v, T low, T high) { \
    return min(max(v, low), high);     \
  }
CHIARO_GPU_COMMON(int)
CHIARO_GPU_COMMON(uint)
#undef CHIARO_GPU_COMMON
// As Metal's fmin and fmax: a NaN loses.
inline float min(float a, float b) {
  return std::fmin(a, b);
}
inline float max(float a, float b) {
  return std::fmax(a, b);
}
inline float clamp(float v, float low, float high) {
  return min(max(v, low), high);
}
inline int abs(int v) {
  return v < 0 ? -v : v;
}
inline float abs(float v) {
  return std::fabs(v);
}
inline float fabs(float v) {
  return std::fabs(v);
}
inline float floor(float v) {
  return std::floor(v);
}
inline float sqrt(float v) {
  return std::sqrt(v);
}
inline float rsqrt(float v) {
  return 1.0f / std::sqrt(v);
}
inline float exp(float v) {
  return std::exp(v);
}
inline float log(float v) {
  return std::log(v);
}
inline float sin(float v) {
  return std::sin(v);
}
inline float cos(float v) {
  return std::cos(v);
}
inline float tanh(float v) {
  return std::tanh(v);
}
inline float pow(float a, float b) {
  return std::pow(a, b);
}
inline float fma(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline bool isnan(float v) {
  return v != v;
}

// Barriers and simdgroup operations -----------------------------------------------------------------------------------

enum class mem_flags : uint32_t { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) {
  return static_cast<mem_flags>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
inline void threadgroup_barrier(mem_flags flags, Where where = Where::here()) {
  soft::threadgroup_barrier(static_cast<uint32_t>(flags), where);
}
inline void simdgroup_barrier(mem_flags flags, Where where = Where::here()) {
  soft::simdgroup_barrier(static_cast<uint32_t>(flags), where);
}

#define CHIARO_GPU_SIMD(T, sum, most, least)                                                           \
  inline T simd_sum(T v, Where where = Where::here()) {                                                \
    return std::bit_cast<T>(simd_operation(SimdOp::sum, std::bit_cast<uint>(v), 0, where));            \
  }                                                                                                    \
  inline T simd_max(T v, Where where = Where::here()) {                                                \
    return std::bit_cast<T>(simd_operation(SimdOp::most, std::bit_cast<uint>(v), 0, where));           \
  }                                                                                                    \
  inline T simd_min(T v, Where where = Where::here()) {                                                \
    return std::bit_cast<T>(simd_operation(SimdOp::least, std::bit_cast<uint>(v), 0, where));          \
  }                                                                                                    \
  inline T simd_shuffle(T v, ushort lane, Where where = Where::here()) {                               \
    return std::bit_cast<T>(simd_operation(SimdOp::shuffle, std::bit_cast<uint>(v), lane, where));     \
  }                                                                                                    \
  inline T simd_shuffle_xor(T v, ushort mask, Where where = Where::here()) {                           \
    return std::bit_cast<T>(simd_operation(SimdOp::shuffle_xor, std::bit_cast<uint>(v), mask, where)); \
  }                                                                                                    \
  inline T simd_broadcast(T v, ushort lane, Where where = Where::here()) {                             \
    return std::bit_cast<T>(simd_operation(SimdOp::broadcast, std::bit_cast<uint>(v), lane, where));   \
  }
CHIARO_GPU_SIMD(float, sum_float, max_float, min_float)
CHIARO_GPU_SIMD(int, sum_int, max_int, min_int)
CHIARO_GPU_SIMD(uint, sum_int, max_uint, min_uint)
#undef CHIARO_GPU_SIMD

// Function constants --------------------------------------------------------------------------------------------------

template <class T>
inline constexpr GpuConstant::Kind kConstantKind = GpuConstant::Kind::uint32;
template <>
inline constexpr GpuConstant::Kind kConstantKind<bool> = GpuConstant::Kind::boolean;
template <>
inline constexpr GpuConstant::Kind kConstantKind<int> = GpuConstant::Kind::int32;

template <class T, int N>
struct Constant {
  operator T() const {  // NOLINT(google-explicit-constructor)
    const State& s = *t_state;
    if (static_cast<size_t>(N) < s.constant_count && s.constants[N].kind == kConstantKind<T>) {
      return static_cast<T>(s.constants[N].bits);
    }
    return static_cast<T>(constant_bits(N, kConstantKind<T>, {}));
  }
};

}  // namespace chiaro::gpu::soft::language
