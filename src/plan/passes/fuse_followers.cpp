// fuse.norm, fuse.conv, fuse.matmul: an op takes what follows it into its own inputs and attributes. Each by what the
// op declares, not by its name; OpDef::fuses_as says which rewrite it belongs to. fuse.modulate, fuse.gate and
// fuse.swiglu are further links of the same chains (OpDef::scales_as, multiplies_as).
//   affine      op with an absent optional "weight":   y * w[C]            -> weight
//   bias        op with an absent optional "bias":     y + b[C]            -> bias
//   activation  op with an attribute "act" = none:     silu(y), gelu(y)... -> act
//   scale       op with an absent optional "scale":    y * s               -> scale
//   residual    op with an absent optional "residual": y + r               -> residual
//   shift       op with an absent optional "shift":    y + t               -> shift
// in that order, for in-place and functional followers alike. Which shapes an input may have, the op's infer() says.
//
// A gated unit, silu(w1 x) * (w3 x), is two of them: the product with silu takes the other one as its scale, wherever
// that stands. It moves behind it, and one tensor of the inner width is written where three were, and none read twice.
#include <algorithm>
#include <optional>

#include "ops/activation.h"
#include "plan/passes/fusion.h"

namespace chiaro {
namespace {

// The last thing fused so far; later stages may follow, earlier ones may not.
enum Stage { kNothing = 0, kWeight = 1, kBias = 2, kAct = 3, kScale = 4, kTerm = 5 };

struct Growing {
  FusedChain chain;
  int stage = kNothing;
};

struct Links {
  const Fusion& fusion;
  const PassContext& context;
  // Whether the rewrite of that name, empty for none, is to be done.
  bool wanted(std::string_view rewrite) const {
    return !rewrite.empty() && !context.skips("fuse." + std::string(rewrite));
  }
};

// Fills the optional input `name`, if the op has it, it is absent, and nothing of this stage or behind it is there.
bool fill(Growing& growing, Stage stage, std::string_view name, Value operand) {
  FusedChain& chain = growing.chain;
  const int slot = find_input(*chain.op, name);
  if (growing.stage >= stage || slot < 0 || chain.inputs[static_cast<size_t>(slot)].valid()) return false;
  chain.inputs[static_cast<size_t>(slot)] = operand;
  growing.stage = stage;
  return true;
}

// y * operand, or y + operand, where y is what the chain has so far.
bool take_operand(const Links& links, Growing& growing, Value v, Value operand, bool multiply) {
  const Shape &out = links.fusion.desc(v).shape, &shape = links.fusion.desc(operand).shape;
  const OpDef& op = *growing.chain.op;
  const bool per_channel = shape.rank() == 1 && shape[0] == out[-1];
  if (multiply) {
    if (per_channel && fill(growing, kWeight, "weight", operand)) return true;
    return links.wanted(shape == out ? op.multiplies_as : op.scales_as) && fill(growing, kScale, "scale", operand);
  }
  if (per_channel && fill(growing, kBias, "bias", operand)) return true;
  return fill(growing, kTerm, "residual", operand) ||
         (links.wanted(op.scales_as) && fill(growing, kTerm, "shift", operand));
}

// Tries to take `next`, which reads `v`, into the chain.
bool link(const Links& links, Growing& growing, Value v, const Node& next) {
  if (next.op->step == nullptr || !(links.fusion.desc(next.output) == links.fusion.desc(v))) return false;
  const ElementwiseStep step = next.op->step(next.attrs);
  if (step.function == "add" || step.function == "mul") {
    const bool left = next.inputs[0] == v;
    if (!left && next.op->kind == OpKind::inplace) return false;  // v is read, another tensor is written
    return take_operand(links, growing, v, left ? next.inputs[1] : next.inputs[0], step.function == "mul");
  }
  const auto act = activation_from_name(step.function);
  if (!act || *act == Activation::none || growing.stage >= kAct) return false;
  growing.chain.attrs = with_activation(std::move(growing.chain.attrs), activation_name(*act));
  growing.stage = kAct;
  return true;
}

// A node as it stands, which may have some of these already.
Growing begin(const Node& node, size_t head) {
  constexpr std::pair<std::string_view, Stage> kInputs[] = {
      {"weight", kWeight}, {"bias", kBias}, {"scale", kScale}, {"residual", kTerm}, {"shift", kTerm}};
  Growing now{{node.op, node.attrs, node.inputs, {head}}, kNothing};
  now.chain.inputs.resize(node.op->inputs.size(), kNone);
  const AttrValue* act = find_attr(now.chain.attrs, "act");
  if (act != nullptr && *act != AttrValue(std::string(activation_name(Activation::none)))) now.stage = kAct;
  for (const auto& [name, stage] : kInputs) {
    const int slot = find_input(*node.op, name);
    if (slot >= 0 && now.chain.inputs[static_cast<size_t>(slot)].valid()) now.stage = std::max<int>(now.stage, stage);
  }
  return now;
}

FusedChain grow(const Links& links, size_t head) {
  const Fusion& fusion = links.fusion;
  Growing now = begin(fusion.node(head), head);
  for (;;) {
    const int64_t next = fusion.follower(now.chain);
    if (next < 0) return now.chain;
    const auto at = static_cast<size_t>(next);
    Growing longer = now;
    const Value v = fusion.node(now.chain.links.back()).output, out = fusion.node(at).output;
    if (!link(links, longer, v, fusion.node(at)) || !fusion.movable(now.chain, at)) return now.chain;
    if (!fusion.well_formed(longer.chain, out) || !fusion.has_kernel(longer.chain, out)) return now.chain;
    longer.chain.links.push_back(at);
    now = std::move(longer);
  }
}

}  // namespace

Result<Graph> fuse_followers(const Graph& graph, PassContext& context) {
  CHIARO_ASSIGN(Fusion fusion, Fusion::start(graph, context));
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const std::string_view rewrite = graph.nodes()[i].op->fuses_as;
    if (rewrite.empty() || fusion.taken(i) || context.skips("fuse." + std::string(rewrite))) continue;
    FusedChain chain = grow({fusion, context}, i);
    if (chain.links.size() > 1) fusion.take(std::move(chain));
  }
  return fusion.finish();
}

}  // namespace chiaro
