// What the elementwise ops have in common, so that an op's own op.h states only its name and its function.
//
//   struct Silu : UnaryOp<Silu> {  name, formula, Attrs, static double apply(const Attrs&, double x);  };
//   struct Add : BinaryOp<Add> {   name, formula, step_name, static double apply(double a, double b);  };
//
// Unary: x [...] -> same shape and dtype. Binary: numpy's broadcasting of a and b; the result has a's dtype and b may
// be any other plain dtype (a weight). In-place forms: the result is a's view; b stretches to a's shape, never a to
// b's.
#pragma once

#include "graph/declare.h"
#include "ops/activation.h"

namespace chiaro {

// Shape rules and costs ---------------------------------------------------------------------------------------------

Result<TensorDesc> infer_unary(std::string_view op, InputDescs in);
Result<TensorDesc> infer_binary(std::string_view op, bool inplace, InputDescs in);
// [..., 2C] -> [..., C]
Result<TensorDesc> infer_halved(std::string_view op, InputDescs in);
Cost elementwise_cost(double flops_per_element, InputDescs in, const TensorDesc& out);

// For references: the values of `x`, stretched to `shape`, in row-major order.
std::vector<double> stretched(const RefTensor& x, const Shape& shape);
// axis in [-rank, rank) to [0, rank); -1 where it is outside.
int normal_axis(int64_t axis, int rank);

// Bases -------------------------------------------------------------------------------------------------------------

template <class Self, OpKind Kind = OpKind::compute>
struct UnaryOp {
  static constexpr OpKind kind = Kind;
  static constexpr std::array inputs{InputSpec{"x", "[...]"}};
  static constexpr Alias alias{.may_overwrite = Kind == OpKind::compute ? 0 : -1};
  template <class A>
  static Result<TensorDesc> infer(const A&, InputDescs in) {
    return infer_unary(Self::name, in);
  }
  template <class A>
  static Cost cost(const A&, InputDescs in, const TensorDesc& out) {
    return elementwise_cost(4, in, out);
  }
  // Of those that name an Activation as their `function`.
  template <class A, class S = Self>
  static auto step(const A& attrs) -> decltype(ElementwiseStep{activation_name(S::function(attrs))}) {
    return {activation_name(S::function(attrs))};
  }
  template <class A>
  static Status reference(const A& attrs, std::span<const RefTensor> in, RefTensor& out) {
    for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = Self::apply(attrs, in[0].data[i]);
    return {};
  }
};

template <class Self, OpKind Kind = OpKind::compute>
struct BinaryOp {
  static constexpr OpKind kind = Kind;
  static constexpr std::array inputs{InputSpec{"a", "[...]"}, InputSpec{"b", "[...], broadcasts with a"}};
  // Only where `a` has the shape of the result: the planner compares.
  static constexpr Alias alias{.may_overwrite = Kind == OpKind::compute ? 0 : -1};
  using Attrs = NoAttrs;
  static Result<TensorDesc> infer(const Attrs&, InputDescs in) {
    return infer_binary(Self::name, Kind == OpKind::inplace, in);
  }
  static ElementwiseStep step(const Attrs&) { return {Self::step_name}; }
  static Cost cost(const Attrs&, InputDescs in, const TensorDesc& out) { return elementwise_cost(1, in, out); }
  static Status reference(const Attrs&, std::span<const RefTensor> in, RefTensor& out) {
    const std::vector<double> a = stretched(in[0], out.shape), b = stretched(in[1], out.shape);
    for (size_t i = 0; i < out.data.size(); ++i) out.data[i] = Self::apply(a[i], b[i]);
    return {};
  }
};

}  // namespace chiaro
