#include <cmath>

#include "ops/add/op.h"
#include "ops/cast/op.h"
#include "ops/concat/op.h"
#include "ops/mul/op.h"
#include "ops/reshape/op.h"
#include "ops/rms_norm/op.h"
#include "ops/rope_apply/op.h"
#include "ops/slice/op.h"

namespace chiaro {
namespace {

Status check_head_norm(const RopeApply::Attrs& attrs, InputDescs in) {
  constexpr std::string_view name = RopeApply::name;
  const TensorDesc* weight = in.size() > 2 ? in[2] : nullptr;
  if (!attrs.norm) {
    if (weight == nullptr) return {};
    return op_error(name, "weight " + weight->text() + " without norm", "it is the norm's", "set norm=true");
  }
  if (!(attrs.eps >= 0)) return op_error(name, "eps=" + std::to_string(attrs.eps), "it is not a number >= 0");
  const Shape head{in[0]->shape[3]};
  if (weight != nullptr && (!is_float(weight->dtype) || !(weight->shape == head))) {
    return op_error(name, "weight " + weight->text() + " with x " + in[0]->text(),
                    "one float for each of a head's numbers is needed", "give " + head.text());
  }
  return {};
}

}  // namespace

std::string_view attr_enum_name(RopeLayout layout) {
  return layout == RopeLayout::split ? "split" : "interleaved";
}

bool attr_enum_parse(std::string_view text, RopeLayout& layout) {
  if (text != "split" && text != "interleaved") return false;
  layout = text == "split" ? RopeLayout::split : RopeLayout::interleaved;
  return true;
}

Result<TensorDesc> RopeApply::infer(const Attrs& attrs, InputDescs in) {
  const TensorDesc &x = *in[0], &rot = *in[1];
  if (!is_float(x.dtype)) return op_error(name, "x " + x.text(), "it is not a floating point tensor", "cast it");
  if (x.rank() != 4 || x.shape[3] % 2 != 0) {
    return op_error(name, "x " + x.shape.text(), "it is not [N,L,heads,d] with an even d");
  }
  const Shape expected{x.shape[1], x.shape[3] / 2, 2, 2};
  if (rot.dtype != DType::f32 || !(rot.shape == expected)) {
    return op_error(name, "rot " + rot.text() + " with x " + x.shape.text(),
                    "one 2x2 matrix per position and pair is needed", "give f32" + expected.text());
  }
  CHIARO_TRY(check_head_norm(attrs, in));
  return dense(x.dtype, x.shape);
}

Cost RopeApply::cost(const Attrs& attrs, InputDescs in, const TensorDesc& out) {
  return {(attrs.norm ? 7.0 : 3.0) * static_cast<double>(out.count()), minimum_bytes(in, out)};
}

Status RopeApply::reference(const Attrs& attrs, std::span<const RefTensor> in, RefTensor& out) {
  const Shape& shape = in[0].shape;  // [N,L,heads,d]
  const auto length = static_cast<size_t>(shape[1]), heads = static_cast<size_t>(shape[2]);
  const auto d = static_cast<size_t>(shape[3]), half = d / 2;
  const bool split = attrs.layout == RopeLayout::split;
  for (size_t head = 0; head < static_cast<size_t>(shape[0]) * length * heads; ++head) {
    const size_t l = head / heads % length;
    std::vector<double> x(in[0].data.begin() + static_cast<int64_t>(head * d),
                          in[0].data.begin() + static_cast<int64_t>((head + 1) * d));
    if (attrs.norm) {
      double square = 0;
      for (const double v : x) square += v * v / static_cast<double>(d);
      for (size_t i = 0; i < d; ++i) x[i] *= (in[2].present ? in[2].data[i] : 1.0) / std::sqrt(square + attrs.eps);
    }
    for (size_t i = 0; i < half; ++i) {
      const size_t first = split ? i : 2 * i, second = first + (split ? half : 1);
      const double* r = in[1].data.data() + (l * half + i) * 4;
      out.data[head * d + first] = r[0] * x[first] + r[1] * x[second];
      out.data[head * d + second] = r[2] * x[first] + r[3] * x[second];
    }
  }
  return {};
}

Value RopeApply::decompose(GraphBuilder& g, const Attrs& attrs, std::span<const Value> in) {
  const DType dtype = g.dtype(in[0]);
  const Shape shape = g.shape(in[0]);  // [N,L,heads,d]
  const int64_t length = shape[1], d = shape[3], half = d / 2;
  const bool split = attrs.layout == RopeLayout::split;
  Value x = dtype == DType::f32 ? in[0] : cast(g, {.dtype = DType::f32}, in[0]);
  if (attrs.norm) x = rms_norm(g, {.eps = attrs.eps}, x, in.size() > 2 ? in[2] : kNone);
  // Row and column of the 2x2 matrices as [L,1,d/2], to stretch over pictures and heads.
  const auto rotation = [&](int64_t row, int64_t column) {
    Value r = slice(g, {.axis = 2, .start = row, .end = row + 1}, in[1]);
    r = slice(g, {.axis = 3, .start = column, .end = column + 1}, r);
    return reshape_copy(g, {length, 1, half}, r);
  };
  const Value first = split ? slice(g, {.axis = 3, .start = 0, .end = half}, x) : slice(g, {.axis = 3, .step = 2}, x);
  const Value second =
      split ? slice(g, {.axis = 3, .start = half}, x) : slice(g, {.axis = 3, .start = 1, .step = 2}, x);
  const auto rotated = [&](int64_t row) {
    const Value left = mul(g, first, rotation(row, 0));  // one call a line: arguments are evaluated in any order
    const Value right = mul(g, second, rotation(row, 1));
    const Value y = add(g, left, right);
    return split ? y : reshape(g, {.shape = {shape[0], length, shape[2], half, 1}}, y);
  };
  const Value top = rotated(0), bottom = rotated(1);
  Value y = concat(g, {.axis = -1}, top, bottom);
  if (!split) y = reshape(g, {.shape = shape}, y);
  return dtype == DType::f32 ? y : cast(g, {.dtype = dtype}, y);
}

const OpDef& op_def_rope_apply() {
  return op_def<RopeApply>();
}

}  // namespace chiaro
