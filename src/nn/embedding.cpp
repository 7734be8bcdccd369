#include "nn/embedding.h"

#include "nn/linear.h"
#include "ops/get_rows/op.h"
#include "ops/silu_/op.h"

namespace chiaro::nn {

Value embedding(const Path& at, int64_t vocabulary, int64_t dim, DType dtype, Value ids) {
  const Layer layer(at);
  return get_rows(layer.graph(), {.dtype = dtype}, layer.weight("weight", {vocabulary, dim}), ids);
}

Value timestep_mlp(const Path& at, int64_t dim, Value x) {
  const Layer layer(at);
  x = linear(layer["linear_1"], {.out = dim}, x);
  x = silu_(layer.graph(), x);
  return linear(layer["linear_2"], {.out = dim}, x);
}

}  // namespace chiaro::nn
