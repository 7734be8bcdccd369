// Arithmetic on rows of f32, dispatched to the best instruction set at run time. An element's result does not depend on
// where it stands in its row. `out` may equal an input. Any alignment, any thread.
#pragma once

#include <cstddef>

namespace chiaro {

enum class BinaryFunction { plus, minus, times, over };

void binary_row(BinaryFunction function, const float* a, const float* b, float* out, size_t n);
// y = x * factor + offset, fused where the instruction set fuses.
void affine_row(const float* x, float factor, float offset, float* out, size_t n);

}  // namespace chiaro
