#include "ops/elementwise.h"
#include "ops/matmul/op.h"

namespace chiaro {
namespace {

const TensorDesc* optional(InputDescs in, size_t i) {
  return i < in.size() ? in[i] : nullptr;
}
bool given(std::span<const RefTensor> in, size_t i) {
  return i < in.size() && in[i].present;
}

// All dimensions but the last two.
Dims leading(const Shape& shape) {
  return Dims(std::span<const int64_t>(shape.begin(), static_cast<size_t>(shape.rank() - 2)));
}

}  // namespace

Result<TensorDesc> Matmul::infer(const Attrs& attrs, InputDescs in) {
  const TensorDesc &x = *in[0], &b = *in[1];
  if (!is_float(x.dtype)) return op_error(name, "x " + x.text(), "it is not a floating point tensor", "cast it");
  if (!is_float(b.dtype) && !is_block(b.dtype) && b.dtype != DType::i8) {
    return op_error(name, "b " + b.text(), "b is a float type, a block type or i8");
  }
  if (x.rank() < 2 || b.rank() < 2) {
    return op_error(name, "x " + x.shape.text() + " and b " + b.shape.text(), "both have at least two dimensions");
  }
  const int64_t n = attrs.transpose_b ? b.shape[-2] : b.shape[-1];
  const int64_t k = attrs.transpose_b ? b.shape[-1] : b.shape[-2];
  if (x.shape[-1] != k) {
    return op_error(name, "x " + x.shape.text() + " and b " + b.shape.text(),
                    "the inner dimensions differ: " + std::to_string(x.shape[-1]) + " and " + std::to_string(k),
                    attrs.transpose_b ? "give b [...,N,K], or set transpose_b=false for [...,K,N]"
                                      : "give b [...,K,N], or set transpose_b=true for [...,N,K]");
  }
  if (const int block = traits(b.dtype).block_elements; block > 1 && (!attrs.transpose_b || k % block != 0)) {
    return op_error(
        name, "b " + b.text(),
        attrs.transpose_b ? "its rows of " + std::to_string(k) + " are not whole blocks of " + std::to_string(block)
                          : "blocks run along K, so K is its last dimension",
        attrs.transpose_b ? "use a type whose blocks divide the rows" : "give [...,N,K] and transpose_b=true");
  }
  CHIARO_ASSIGN(Shape shape, broadcast_shapes(leading(x.shape), leading(b.shape)));
  shape.push_back(x.shape[-2]);
  shape.push_back(n);
  if (const TensorDesc* bias = optional(in, 2); bias != nullptr && !(bias->shape == Shape{n})) {
    return op_error(name, "bias " + bias->shape.text(), "one value per column is needed", "give " + Shape{n}.text());
  }
  if (const TensorDesc* residual = optional(in, 3); residual != nullptr && !(residual->shape == shape)) {
    return op_error(name, "residual " + residual->shape.text(), "it has not the shape of the result",
                    "give " + shape.text());
  }
  if (const TensorDesc* scale = optional(in, 4); scale != nullptr) {
    const auto stretched = broadcast_shapes(shape, scale->shape);
    if (!is_float(scale->dtype) || !stretched.ok() || !(*stretched == shape)) {
      return op_error(name, "scale " + scale->text(), "it is not a float tensor that stretches to the result",
                      "give " + shape.text() + ", or a shape that stretches to it");
    }
  }
  return dense(x.dtype, shape);
}

Cost Matmul::cost(const Attrs&, InputDescs in, const TensorDesc& out) {
  return {2.0 * static_cast<double>(out.count()) * static_cast<double>(in[0]->shape[-1]), minimum_bytes(in, out)};
}

Status Matmul::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  const RefTensor &x = in[0], &b = in[1];
  const int64_t m = x.shape[-2], k = x.shape[-1], n = out.shape[-1];
  // Which matrix of x and of b belongs to each of the result: offsets over the broadcast leading dimensions.
  const Shape batch = leading(out.shape);
  const auto offsets = [&](const Shape& shape, int64_t size) {
    TensorDesc matrices = broadcast_to(dense(DType::f32, leading(shape)), batch);
    std::vector<int64_t> list;
    for_each_element(matrices, [&](int64_t, int64_t offset) { list.push_back(offset * size); });
    return list;
  };
  const auto xs = offsets(x.shape, m * k), bs = offsets(b.shape, k * n);
  const std::vector<double> scale = given(in, 4) ? stretched(in[4], out.shape) : std::vector<double>{};
  const int64_t k_step = attrs.transpose_b ? 1 : n, n_step = attrs.transpose_b ? k : 1;
  for (size_t i = 0; i < out.data.size(); ++i) {
    const auto element = static_cast<int64_t>(i);
    const int64_t column = element % n, row = element / n % m;
    const auto matrix = static_cast<size_t>(element / n / m);
    const double* a = x.data.data() + xs[matrix] + row * k;
    const double* w = b.data.data() + bs[matrix] + column * n_step;
    double sum = given(in, 2) ? in[2].data[static_cast<size_t>(column)] : 0.0;
    for (int64_t j = 0; j < k; ++j) sum += a[j] * w[j * k_step];
    out.data[i] = activate(attrs.act, sum) * (scale.empty() ? 1.0 : scale[i]) + (given(in, 3) ? in[3].data[i] : 0.0);
  }
  return {};
}

const OpDef& op_def_matmul() {
  return op_def<Matmul>();
}

}  // namespace chiaro
