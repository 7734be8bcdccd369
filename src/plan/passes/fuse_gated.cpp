// fuse.geglu: a product of which a gated unit multiplies the halves, hidden * gelu(gate), becomes two products, each
// with its half of the weight and the bias, as views of them. The gate's has the activation and takes the other one as
// its scale. After fuse.matmul, which gives the product its bias. By what ops declare: OpDef::gated, channel_axis and
// multiplies_as.
//
// In tensors of the inner width, three are moved where five were: one product writes, the other reads that and writes
// over it; before, one wrote both halves, and the unit read both and wrote.
#include <optional>

#include "ops/slice/op.h"
#include "plan/passes/fusion.h"
#include "plan/rewriter.h"

namespace chiaro {
namespace {

struct GatedProduct {
  size_t product = 0, unit = 0;  // nodes
  GatedHalves halves;
};

// The part of an operand for one half of the channels: a slice, or all of it where it has no channels.
struct Half {
  std::optional<Slice::Attrs> slice;
  Operand operand;
};

// Nothing where a half is no view.
std::optional<Half> half_of(const Fusion& fusion, const Node& product, size_t input, bool second) {
  const Value v = product.inputs[input];
  Half half{std::nullopt, operand_of(fusion.graph(), v)};
  const int axis = v.valid() ? product.op->channel_axis(product.attrs, input) : 0;
  if (axis == 0) return half;
  const TensorDesc& desc = fusion.desc(v);
  const int64_t channels = desc.shape[axis];
  if (channels == 1) return half;
  const int64_t middle = channels / 2;
  half.slice = Slice::Attrs{.axis = axis, .start = second ? middle : 0, .end = second ? channels : middle};
  const TensorDesc* inputs[] = {&desc};
  const auto view = Slice::view(*half.slice, inputs);
  if (!view.ok()) return std::nullopt;
  half.operand.desc = view->desc;
  while (view->offset_bytes % half.operand.alignment != 0) half.operand.alignment /= 2;
  return half;
}

std::optional<std::vector<Half>> halves_of(const Fusion& fusion, const Node& product, bool second) {
  std::vector<Half> halves;
  for (size_t i = 0; i < product.inputs.size(); ++i) {
    auto half = half_of(fusion, product, i, second);
    if (!half) return std::nullopt;
    halves.push_back(std::move(*half));
  }
  return halves;
}

// Whether both products have a kernel where the product has it.
bool runs(const Fusion& fusion, const GatedProduct& gated) {
  const Node& product = fusion.node(gated.product);
  const Operand out = operand_of(fusion.graph(), fusion.node(gated.unit).output);
  for (const bool gate : {false, true}) {
    const auto halves = halves_of(fusion, product, gate != gated.halves.gate_first);
    if (!halves) return false;
    std::vector<Operand> operands;
    for (const Half& half : *halves) operands.push_back(half.operand);
    operands.resize(product.op->inputs.size(), operand_of(fusion.graph(), kNone));
    if (gate) operands[static_cast<size_t>(find_input(*product.op, "scale"))] = out;
    const AttrMap attrs = gate ? with_activation(product.attrs, gated.halves.function) : product.attrs;
    if (!fusion.has_kernel(gated.product, *product.op, attrs, operands, out)) return false;
  }
  return true;
}

// Whether `node` is a plain product, at most with a bias, of which the rest may be made from one half alone.
bool plain(const Node& node, const PassContext& context) {
  if (node.op->channel_axis == nullptr || find_input(*node.op, "scale") < 0) return false;
  if (node.op->multiplies_as.empty() || context.skips("fuse." + std::string(node.op->multiplies_as))) return false;
  const AttrValue* act = find_attr(node.attrs, "act");
  if (act == nullptr || !(*act == *find_attr(node.op->default_attrs, "act"))) return false;
  for (const std::string_view later : {"scale", "residual"}) {
    const int slot = find_input(*node.op, later);
    if (slot >= 0 && static_cast<size_t>(slot) < node.inputs.size() && node.inputs[static_cast<size_t>(slot)].valid()) {
      return false;
    }
  }
  return true;
}

std::optional<GatedProduct> gated_product(const Fusion& fusion, const PassContext& context, size_t head) {
  const Node& product = fusion.node(head);
  if (!plain(product, context)) return std::nullopt;
  const FusedChain chain{product.op, product.attrs, product.inputs, {head}};
  const int64_t next = fusion.follower(chain);
  if (next < 0 || fusion.node(static_cast<size_t>(next)).op->gated == nullptr) return std::nullopt;
  const Node& unit = fusion.node(static_cast<size_t>(next));
  const GatedProduct gated{head, static_cast<size_t>(next), unit.op->gated(unit.attrs)};
  if (!fusion.movable(chain, gated.unit) || !runs(fusion, gated)) return std::nullopt;
  return gated;
}

// The product of one half at the gated unit's place; `scale`: kNone for the hidden half.
Value emit_half(const Fusion& fusion, Rewriter& rewriter, const GatedProduct& gated, Value scale) {
  const Node& product = fusion.node(gated.product);
  const bool gate = scale.valid();
  std::vector<Value> inputs;
  for (size_t i = 0; i < product.inputs.size(); ++i) {
    const auto half = half_of(fusion, product, i, gate != gated.halves.gate_first);
    Value v = rewriter.mapped(product.inputs[i]);
    if (half && half->slice) v = rewriter.emit(product, op_def_slice(), encode_attrs(*half->slice), {v});
    inputs.push_back(v);
  }
  if (!gate) return rewriter.emit(product, *product.op, product.attrs, std::move(inputs));
  inputs.resize(product.op->inputs.size(), kNone);
  inputs[static_cast<size_t>(find_input(*product.op, "scale"))] = scale;
  AttrMap attrs = with_activation(product.attrs, gated.halves.function);
  return rewriter.emit(product, *product.op, std::move(attrs), std::move(inputs));
}

}  // namespace

Result<Graph> fuse_gated(const Graph& graph, PassContext& context) {
  if (context.skips("fuse.geglu")) return graph;
  CHIARO_ASSIGN(const Fusion fusion, Fusion::start(graph, context));
  std::vector<bool> left_out(graph.nodes().size(), false);
  std::vector<std::optional<GatedProduct>> units(graph.nodes().size());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto gated = gated_product(fusion, context, i);
    if (!gated) continue;
    left_out[i] = true;
    units[gated->unit] = gated;
    ++context.changes;
  }
  Rewriter rewriter(graph);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (units[i]) {
      const Value hidden = emit_half(fusion, rewriter, *units[i], kNone);
      rewriter.map(fusion.node(i).output, emit_half(fusion, rewriter, *units[i], hidden));
    } else if (!left_out[i]) {
      rewriter.copy(fusion.node(i));
    }
  }
  return rewriter.finish();
}

}  // namespace chiaro
