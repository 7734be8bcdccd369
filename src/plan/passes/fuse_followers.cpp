// fuse.norm, fuse.conv, fuse.matmul: an op takes what follows it into its own inputs and attributes. Each by what the
// op declares, not by its name; OpDef::fuses_as says which rewrite it belongs to.
//   affine      op with an absent optional "weight":   y * w[C]            -> weight
//   bias        op with an absent optional "bias":     y + b[C]            -> bias
//   activation  op with an attribute "act" = none:     silu(y), gelu(y)... -> act
//   residual    op with an absent optional "residual": y + r (same shape)  -> residual
// in that order, for in-place and functional followers alike.
#include <optional>

#include "ops/activation.h"
#include "plan/passes/fusion.h"

namespace chiaro {
namespace {

// The last thing fused so far; later stages may follow, earlier ones may not.
enum Stage { kNothing = 0, kWeight = 1, kBias = 2, kAct = 3, kResidual = 4 };

struct Growing {
  FusedChain chain;
  int stage = kNothing;
};

int find_input(const OpDef& op, std::string_view name) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].name == name && op.inputs[i].optional) return static_cast<int>(i);
  }
  return -1;
}

bool take_operand(const Fusion& fusion, Growing& growing, Value v, Value other, bool multiply) {
  const TensorDesc& out = fusion.desc(v);
  const TensorDesc& operand = fusion.desc(other);
  const bool per_channel = operand.rank() == 1 && operand.shape[0] == out.shape[-1];
  const bool same = operand.shape == out.shape;
  const int stage = multiply ? kWeight : per_channel ? kBias : same ? kResidual : kNothing;
  if (stage == kNothing || growing.stage >= stage || (multiply && !per_channel)) return false;
  FusedChain& chain = growing.chain;
  const int slot = find_input(*chain.op, stage == kWeight ? "weight" : stage == kBias ? "bias" : "residual");
  if (slot < 0 || chain.inputs[static_cast<size_t>(slot)].valid()) return false;
  chain.inputs[static_cast<size_t>(slot)] = other;
  growing.stage = stage;
  return true;
}

// Tries to take `next`, which reads `v`, into the chain.
bool link(const Fusion& fusion, Growing& growing, Value v, const Node& next) {
  if (next.op->step == nullptr || !(fusion.desc(next.output) == fusion.desc(v))) return false;
  const ElementwiseStep step = next.op->step(next.attrs);
  if (step.function == "add" || step.function == "mul") {
    const bool left = next.inputs[0] == v;
    if (!left && next.op->kind == OpKind::inplace) return false;  // v is read, another tensor is written
    return take_operand(fusion, growing, v, left ? next.inputs[1] : next.inputs[0], step.function == "mul");
  }
  const auto act = activation_from_name(step.function);
  if (!act || *act == Activation::none || growing.stage >= kAct) return false;
  for (auto& [key, value] : growing.chain.attrs) {
    if (key == "act") value = std::string(activation_name(*act));
  }
  growing.stage = kAct;
  return true;
}

FusedChain grow(const Fusion& fusion, size_t head) {
  const Node& node = fusion.node(head);
  Growing now{{node.op, node.attrs, node.inputs, {head}}, kNothing};
  now.chain.inputs.resize(node.op->inputs.size(), kNone);
  const AttrValue* act = find_attr(now.chain.attrs, "act");
  if (act != nullptr && *act != AttrValue(std::string(activation_name(Activation::none)))) return now.chain;
  for (;;) {
    const int64_t next = fusion.follower(now.chain);
    if (next < 0) return now.chain;
    const auto at = static_cast<size_t>(next);
    Growing longer = now;
    const Value v = fusion.node(now.chain.links.back()).output, out = fusion.node(at).output;
    if (!link(fusion, longer, v, fusion.node(at)) || !fusion.movable(now.chain, at)) return now.chain;
    if (!fusion.has_kernel(longer.chain, out)) return now.chain;
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
    FusedChain chain = grow(fusion, i);
    if (chain.links.size() > 1) fusion.take(std::move(chain));
  }
  return fusion.finish();
}

}  // namespace chiaro
