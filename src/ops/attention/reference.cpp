#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/op.h"

namespace chiaro {
namespace {

const TensorDesc* optional(InputDescs in, size_t i) {
  return i < in.size() ? in[i] : nullptr;
}
bool given(std::span<const RefTensor> in, size_t i) {
  return i < in.size() && in[i].present;
}

Status check_extras(InputDescs in, const Shape& scores) {
  if (const TensorDesc* bias = optional(in, 3); bias != nullptr) {
    if (!is_float(bias->dtype)) return op_error(Attention::name, "bias " + bias->text(), "it is not a float tensor");
    const auto stretched = broadcast_shapes(bias->shape, scores);
    if (!stretched.ok() || !(*stretched == scores)) {
      return op_error(Attention::name, "bias " + bias->shape.text(), "it does not stretch to [N,heads,Lq,Lk]",
                      "give " + scores.text() + " or 1 in its place");
    }
  }
  if (const TensorDesc* lengths = optional(in, 4); lengths != nullptr) {
    if (lengths->dtype != DType::i32 || !(lengths->shape == Shape{scores[0]})) {
      return op_error(Attention::name, "key_lengths " + lengths->text(), "one i32 per picture is needed",
                      "give i32" + Shape{scores[0]}.text());
    }
  }
  return {};
}

// softmax(scores) v into out[0 .. d); scores are overwritten.
void weigh(std::vector<double>& scores, const double* v, int64_t step, int64_t d, double* out) {
  std::fill_n(out, d, 0.0);
  double peak = -std::numeric_limits<double>::infinity();
  for (const double s : scores) peak = std::isnan(s) ? s : std::max(peak, s);
  if (peak == -std::numeric_limits<double>::infinity()) return;
  double total = 0;
  for (double& s : scores) total += s = std::exp(s - peak);
  for (size_t j = 0; j < scores.size(); ++j) {
    for (int64_t c = 0; c < d; ++c) out[c] += scores[j] / total * v[static_cast<int64_t>(j) * step + c];
  }
}

}  // namespace

double Attention::scale_of(const Attrs& attrs, int64_t d) {
  return attrs.scale != 0 ? attrs.scale : 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(d, 1)));
}

Result<TensorDesc> Attention::infer(const Attrs&, InputDescs in) {
  const TensorDesc &q = *in[0], &k = *in[1], &v = *in[2];
  for (const TensorDesc* t : {&q, &k, &v}) {
    if (!is_float(t->dtype)) return op_error(name, t->text(), "q, k and v are floating point tensors", "cast it");
    if (t->rank() != 4) return op_error(name, t->shape.text(), "q, k and v are [N,L,heads,d]");
  }
  const std::string all = "q " + q.shape.text() + ", k " + k.shape.text() + ", v " + v.shape.text();
  if (!(k.shape == v.shape)) return op_error(name, all, "k and v have the same shape");
  if (q.shape[0] != k.shape[0] || q.shape[3] != k.shape[3]) {
    return op_error(name, all, "N and d are the same for q, k and v");
  }
  if (k.shape[2] == 0 || q.shape[2] % k.shape[2] != 0) {
    return op_error(name, all,
                    "heads (" + std::to_string(q.shape[2]) + ") is not a multiple of kv_heads (" +
                        std::to_string(k.shape[2]) + ")");
  }
  CHIARO_TRY(check_extras(in, Shape{q.shape[0], q.shape[2], q.shape[1], k.shape[1]}));
  return dense(q.dtype, q.shape);
}

Cost Attention::cost(const Attrs& attrs, InputDescs in, const TensorDesc& out) {
  const auto keys = static_cast<double>(in[1]->shape[1]);
  const double seen = attrs.causal ? (keys + 1) / 2 : keys;
  return {4.0 * static_cast<double>(out.count()) * seen, minimum_bytes(in, out)};
}

Status Attention::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  const Shape &q = in[0].shape, &k = in[1].shape;
  const int64_t lq = q[1], heads = q[2], d = q[3], lk = k[1], kv_heads = k[2];
  const double scale = scale_of(attrs, d);
  Strides bias = Dims::filled(4, 0);
  if (given(in, 3)) bias = broadcast_to(dense(DType::f32, in[3].shape), Shape{q[0], heads, lq, lk}).strides;
  std::vector<double> scores;
  for (int64_t row = 0; row < q[0] * lq * heads; ++row) {
    const int64_t h = row % heads, i = row / heads % lq, n = row / heads / lq;
    const int64_t first = (n * lk * kv_heads + h / (heads / kv_heads)) * d;
    int64_t end =
        given(in, 4) ? std::clamp<int64_t>(static_cast<int64_t>(in[4].data[static_cast<size_t>(n)]), 0, lk) : lk;
    if (attrs.causal) end = std::min(end, i + 1);
    scores.assign(static_cast<size_t>(end), 0.0);
    const double* qi = in[0].data.data() + row * d;
    for (int64_t j = 0; j < end; ++j) {
      const double* kj = in[1].data.data() + first + j * kv_heads * d;
      double dot = 0;
      for (int64_t c = 0; c < d; ++c) dot += qi[c] * kj[c];
      dot *= scale;
      if (given(in, 3)) {
        dot += in[3].data[static_cast<size_t>(n * bias[0] + h * bias[1] + i * bias[2] + j * bias[3])];
      }
      scores[static_cast<size_t>(j)] = dot;
    }
    weigh(scores, in[2].data.data() + first, kv_heads * d, d, out.data.data() + row * d);
  }
  return {};
}

const OpDef& op_def_attention() {
  return op_def<Attention>();
}

}  // namespace chiaro
