// Arithmetic on rows of f32, f16 or bf16 (all rows of a call in one dtype; computed in f32, rounded once), dispatched
// to the best instruction set at run time. An element's result does not depend on where it stands in its row. Rows are
// dense and aligned to their elements; `out` may equal an input. Any thread.
#pragma once

#include <cstddef>

#include "core/dtype.h"
#include "ops/activation.h"

namespace chiaro {

enum class BinaryFunction { plus, minus, times, over };

void binary_row(BinaryFunction function, DType dtype, const void* a, const void* b, void* out, size_t n);
// y = x * factor + offset, fused where the instruction set fuses.
void affine_row(DType dtype, const void* x, float factor, float offset, void* out, size_t n);
void activation_row(Activation activation, DType dtype, const void* x, void* out, size_t n);
// y = activation(gate) * value.
void gated_row(Activation activation, DType dtype, const void* gate, const void* value, void* out, size_t n);

}  // namespace chiaro
