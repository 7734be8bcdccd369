// From an op's declaration (a struct in src/ops/<op>/op.h) to its OpDef and its builder function.
//
//   struct Silu {
//     static constexpr std::string_view name = "silu", formula = "y = x * sigmoid(x)";
//     static constexpr OpKind kind = OpKind::compute;
//     static constexpr std::array inputs{InputSpec{"x", "[...]"}};
//     using Attrs = NoAttrs;
//     static constexpr Alias alias{.may_overwrite = 0};
//     static Result<TensorDesc> infer(const Attrs&, InputDescs);
//     static Cost cost(const Attrs&, InputDescs, const TensorDesc& out);
//     static Status reference(const Attrs&, std::span<const RefTensor>, RefTensor& out);   // and/or decompose
//   };
//   inline constexpr OpCall<Silu> silu{};      // silu(g, x) in models;  silu(g, {attrs}, x) with attributes
//   const OpDef& op_def_silu();                // defined in reference.cpp: return op_def<Silu>();
//
// Optional members: variadic, deterministic, fuses_as, scales_as, multiplies_as, prologue (graph/op.h), `static
// ElementwiseStep step(const Attrs&)`, `static GatedHalves gated(const Attrs&)` and `static int channel_axis(const
// Attrs&, size_t input)`.
// Kind view: `static Result<ViewResult> view(const Attrs&, InputDescs)` instead of infer. Kind inplace: infer checks
// shapes and returns the first input's description; reference computes the new contents of the first input's view.
#pragma once

#include <array>
#include <concepts>
#include <vector>

#include "graph/builder.h"

namespace chiaro {

template <class O>
concept ViewOp = requires(const typename O::Attrs& a, InputDescs in) {
  { O::view(a, in) } -> std::same_as<Result<ViewResult>>;
};
template <class O>
concept HasReference = requires(const typename O::Attrs& a, std::span<const RefTensor> in, RefTensor& out) {
  { O::reference(a, in, out) } -> std::same_as<Status>;
};
template <class O>
concept HasDecompose = requires(GraphBuilder& g, const typename O::Attrs& a, std::span<const Value> in) {
  { O::decompose(g, a, in) } -> std::same_as<Value>;
};
template <class O>
concept HasStep = requires(const typename O::Attrs& a) {
  { O::step(a) } -> std::same_as<ElementwiseStep>;
};
template <class O>
concept IsGated = requires(const typename O::Attrs& a) {
  { O::gated(a) } -> std::same_as<GatedHalves>;
};
template <class O>
concept HasChannelAxis = requires(const typename O::Attrs& a) {
  { O::channel_axis(a, size_t{}) } -> std::same_as<int>;
};
// A malformed declaration is a compile error that names what is missing.
template <class O>
concept Op = requires(const typename O::Attrs& a, InputDescs in, const TensorDesc& out) {
  { O::name } -> std::convertible_to<std::string_view>;
  { O::formula } -> std::convertible_to<std::string_view>;
  { O::kind } -> std::convertible_to<OpKind>;
  { O::alias } -> std::convertible_to<Alias>;
  { O::cost(a, in, out) } -> std::same_as<Cost>;
  O::inputs.size();
}
&&(ViewOp<O> || (requires(const typename O::Attrs& a, InputDescs in) {
     { O::infer(a, in) } -> std::same_as<Result<TensorDesc>>;
   } && (HasReference<O> || HasDecompose<O>)));

namespace detail {

// Attributes were checked when the node was built; a failure here is our own mistake.
template <class O>
typename O::Attrs attrs_of(const AttrMap& map) {
  return *decode_attrs<typename O::Attrs>(map);
}

template <Op O>
OpDef make_op_def() {
  OpDef def;
  def.name = O::name;
  def.formula = O::formula;
  def.kind = O::kind;
  def.inputs.assign(O::inputs.begin(), O::inputs.end());
  if constexpr (requires { O::variadic; }) def.variadic = O::variadic;
  if constexpr (requires { O::deterministic; }) def.deterministic = O::deterministic;
  if constexpr (requires { O::fuses_as; }) def.fuses_as = O::fuses_as;
  if constexpr (requires { O::scales_as; }) def.scales_as = O::scales_as;
  if constexpr (requires { O::multiplies_as; }) def.multiplies_as = O::multiplies_as;
  if constexpr (requires { O::prologue; }) def.prologue = O::prologue;
  def.default_attrs = encode_attrs(typename O::Attrs{});
  def.alias = O::alias;
  def.check_attrs = [](const AttrMap& map) -> Status {
    CHIARO_TRY(decode_attrs<typename O::Attrs>(map));
    return {};
  };
  def.cost = [](const AttrMap& map, InputDescs in, const TensorDesc& out) {
    return O::cost(attrs_of<O>(map), in, out);
  };
  if constexpr (ViewOp<O>) {
    def.view = [](const AttrMap& map, InputDescs in) { return O::view(attrs_of<O>(map), in); };
  } else {
    def.infer = [](const AttrMap& map, InputDescs in) { return O::infer(attrs_of<O>(map), in); };
  }
  if constexpr (HasStep<O>) {
    def.step = [](const AttrMap& map) { return O::step(attrs_of<O>(map)); };
  }
  if constexpr (IsGated<O>) {
    def.gated = [](const AttrMap& map) { return O::gated(attrs_of<O>(map)); };
  }
  if constexpr (HasChannelAxis<O>) {
    def.channel_axis = [](const AttrMap& map, size_t input) { return O::channel_axis(attrs_of<O>(map), input); };
  }
  if constexpr (HasReference<O>) {
    def.reference = [](const AttrMap& map, std::span<const RefTensor> in, RefTensor& out) {
      return O::reference(attrs_of<O>(map), in, out);
    };
  }
  if constexpr (HasDecompose<O>) {
    def.decompose = [](GraphBuilder& g, const AttrMap& map, std::span<const Value> in) {
      return O::decompose(g, attrs_of<O>(map), in);
    };
  }
  return def;
}

}  // namespace detail

template <Op O>
const OpDef& op_def() {
  static const OpDef def = detail::make_op_def<O>();
  return def;
}

// The builder function of an op.
template <class O>
struct OpCall {
  template <class... V>
  requires(std::same_as<V, Value>&&...) Value operator()(GraphBuilder& g, V... inputs) const {
    return g.add(op_def<O>(), encode_attrs(typename O::Attrs{}), {inputs...});
  }
  template <class... V>
  requires(std::same_as<V, Value>&&...) Value operator()(GraphBuilder& g, const typename O::Attrs& attrs,
                                                         V... inputs) const {
    return g.add(op_def<O>(), encode_attrs(attrs), {inputs...});
  }
  Value operator()(GraphBuilder& g, const typename O::Attrs& attrs, std::vector<Value> inputs) const {
    return g.add(op_def<O>(), encode_attrs(attrs), std::move(inputs));
  }
};

}  // namespace chiaro
