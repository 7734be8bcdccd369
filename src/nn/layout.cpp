#include "nn/layout.h"

#include "ops/cast/op.h"
#include "ops/contiguous/op.h"
#include "ops/permute/op.h"
#include "ops/reshape/op.h"

namespace chiaro::nn {

Value to_dtype(GraphBuilder& g, DType dtype, Value x) {
  return g.failed() || g.dtype(x) == dtype ? x : cast(g, {.dtype = dtype}, x);
}

Value to_channels_last(GraphBuilder& g, DType dtype, Value x) {
  return to_dtype(g, dtype, contiguous(g, permute(g, {.perm = {0, 2, 3, 1}}, x)));
}

Value to_channels_first_f32(GraphBuilder& g, Value x) {
  return to_dtype(g, DType::f32, contiguous(g, permute(g, {.perm = {0, 3, 1, 2}}, x)));
}

Value to_tokens(GraphBuilder& g, Value x) {
  const Shape& s = g.shape(x);
  return reshape(g, {.shape = {s[0], s[1] * s[2], s[3]}}, x);
}

Value from_tokens(GraphBuilder& g, int64_t height, int64_t width, Value x) {
  const Shape& s = g.shape(x);
  return reshape(g, {.shape = {s[0], height, width, s[-1]}}, x);
}

}  // namespace chiaro::nn
