// Plain C++ entry points to the vector functions: one call per row, dispatched to the best instruction set at run time.
//
// Results are the same for an element wherever it stands in a row. `in` may equal `out` unless noted. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "ops/activation.h"

namespace chiaro {

void map_activation(Activation activation, const float* in, float* out, size_t n);
void map_exp(const float* in, float* out, size_t n);
void map_erf(const float* in, float* out, size_t n);
void map_tanh(const float* in, float* out, size_t n);

// Row conversion: n elements `stride` elements apart, at any byte alignment, to f32 (exact). f32, f16, bf16, f8, i8.
void decode_row(DType dtype, const void* source, int64_t stride, size_t n, float* out);
// f32 to f32, f16 or bf16 (round to nearest even), `stride` elements apart.
void encode_row(DType dtype, const float* in, size_t n, void* target, int64_t stride);
inline bool row_decodable(DType dtype) {
  return is_float(dtype) || dtype == DType::i8;
}
inline bool row_encodable(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

// Name of the instruction set in use ("AVX2", "AVX3", "NEON", ...).
const char* simd_target_name();

}  // namespace chiaro
