#include "ops/reshape/op.h"

#include "ops/contiguous/op.h"

namespace chiaro {
namespace {

// The shape with its -1 replaced, or an error where the counts differ.
Result<Shape> filled_shape(const TensorDesc& x, const Shape& wanted) {
  const std::string what = x.text() + " to " + wanted.text();
  Shape shape = wanted, known = wanted;
  int open = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] >= 0) continue;
    if (shape[i] != -1 || open >= 0) return op_error(Reshape::name, what, "it allows one -1 and no other negative");
    open = i;
    known[i] = 1;
  }
  CHIARO_ASSIGN(const int64_t count, checked_element_count(known));
  if (open >= 0 && (count == 0 || x.count() % count != 0)) {
    return op_error(Reshape::name, what,
                    std::to_string(x.count()) + " elements do not divide by " + std::to_string(count));
  }
  if (open >= 0) shape[open] = x.count() / count;
  if (open < 0 && count != x.count()) {
    return op_error(Reshape::name, what, std::to_string(x.count()) + " elements are not " + std::to_string(count));
  }
  return shape;
}

// Strides of `x` seen as `shape`, or false where no strides do it. Walks both from the end: a run of x's dimensions
// that is dense in itself (each stride is the next one's stride * extent) may be cut anew.
bool strides_of(const TensorDesc& x, const Shape& shape, Strides& strides) {
  strides = contiguous_strides(shape);
  if (x.count() == 0) return true;
  int to = shape.rank() - 1;
  for (int from = x.rank() - 1; from >= 0;) {
    if (x.shape[from] == 1) {
      --from;
      continue;
    }
    int64_t run = x.shape[from];
    const int64_t base = x.strides[from];
    int64_t reach = base * run;
    for (--from; from >= 0 && (x.shape[from] == 1 || x.strides[from] == reach); --from) {
      if (x.shape[from] == 1) continue;
      run *= x.shape[from];
      reach = x.strides[from] * x.shape[from];
    }
    int64_t stride = base;
    for (; run > 1; --to) {
      if (to < 0 || run % shape[to] != 0) return false;
      strides[to] = stride;
      stride *= shape[to];
      run /= shape[to];
    }
  }
  return true;
}

}  // namespace

Result<ViewResult> Reshape::view(const Attrs& attrs, InputDescs in) {
  const TensorDesc& x = *in[0];
  CHIARO_ASSIGN(const Shape shape, filled_shape(x, attrs.shape));
  TensorDesc out{x.dtype, shape, {}};
  if (!strides_of(x, shape, out.strides)) {
    return op_error(name, x.text() + " to " + shape.text(), "its strides " + x.strides.text() + " allow no such view",
                    "use contiguous first, or reshape_copy");
  }
  const bool same_rows = x.rank() > 0 && shape.rank() > 0 && shape[-1] == x.shape[-1];
  if (is_block(x.dtype) && !same_rows &&
      (shape.empty() || !x.contiguous() || shape[-1] % traits(x.dtype).block_elements != 0)) {
    return op_error(name, x.text() + " to " + shape.text(), "a row would cut a quantised block");
  }
  return ViewResult{out, 0};
}

Value reshape_copy(GraphBuilder& g, const Shape& shape, Value x) {
  if (g.failed() || !x.valid()) return kNone;
  const TensorDesc* const in[] = {&g.desc(x)};
  const bool as_view = Reshape::view({shape}, in).ok();
  return reshape(g, {shape}, as_view || !filled_shape(*in[0], shape).ok() ? x : contiguous(g, x));
}

const OpDef& op_def_reshape() {
  return op_def<Reshape>();
}

}  // namespace chiaro
