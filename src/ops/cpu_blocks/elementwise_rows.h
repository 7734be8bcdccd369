// Arithmetic on rows of f32, f16 or bf16 (all rows of a call in one dtype; computed in f32, rounded once), dispatched
// to the best instruction set at run time. An element's result does not depend on where it stands in its row. Rows are
// dense and aligned to their elements; `out` may equal an input. Any thread.
#pragma once

#include <cstddef>

#include "core/dtype.h"
#include "ops/activation.h"

namespace chiaro {

// The dtype of a call's rows, and whether the result is written past the caches (stream_copy.h): from an address that
// is a multiple of kStreamAlignment on.
struct RowFormat {
  DType dtype = DType::f32;
  bool streams = false;
  RowFormat(DType d, bool past_caches = false) : dtype(d), streams(past_caches) {}  // a dtype is a format
};
inline constexpr size_t kStreamAlignment = 64;

enum class BinaryFunction { plus, minus, times, over };

void binary_row(BinaryFunction function, RowFormat format, const void* a, const void* b, void* out, size_t n);
// y = x * factor + offset, fused where the instruction set fuses.
void affine_row(RowFormat format, const void* x, float factor, float offset, void* out, size_t n);
void activation_row(Activation activation, RowFormat format, const void* x, void* out, size_t n);
// y = activation(gate) * value.
void gated_row(Activation activation, RowFormat format, const void* gate, const void* value, void* out, size_t n);

}  // namespace chiaro
