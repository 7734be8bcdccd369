// fuse.elementwise: chains of elementwise nodes become one elementwise_chain, which reads and writes memory once.
//
// A chain starts at a functional node, or at an in-place one whose target nobody else reads, and goes on through the
// only reader of each result: functional or in place on it. Shape and dtype stay the same along it; of a node with two
// inputs, either may be the chain's, the other one becomes an operand.
#include <algorithm>
#include <optional>

#include "ops/elementwise_chain/op.h"
#include "plan/passes/fusion.h"

namespace chiaro {
namespace {

using Kind = ChainStep::Kind;

struct Growing {
  FusedChain chain;
  std::vector<ChainStep> steps;
};

std::optional<Kind> binary_kind(std::string_view function, bool left) {
  if (function == "add") return Kind::plus;
  if (function == "mul") return Kind::times;
  if (function == "sub") return left ? Kind::minus : Kind::minus_from;
  if (function == "div") return left ? Kind::over : Kind::over_from;
  return std::nullopt;
}

// The number of `v` among the chain's inputs, which it joins if it is new; -1 where there are too many.
int operand_number(FusedChain& chain, Value v) {
  const auto found = std::find(chain.inputs.begin(), chain.inputs.end(), v);
  if (found == chain.inputs.end()) {
    if (chain.inputs.size() > kMaxChainOperands) return -1;
    chain.inputs.push_back(v);
    return static_cast<int>(chain.inputs.size()) - 1;
  }
  return static_cast<int>(found - chain.inputs.begin());
}

// The step of `node`, whose input `acc` (0 or 1) is what the chain has so far.
bool append(Growing& growing, const Node& node, size_t acc) {
  const ElementwiseStep step = node.op->step(node.attrs);
  ChainStep next;
  if (const auto kind = binary_kind(step.function, acc == 0)) {
    next.kind = *kind;
    next.operand = operand_number(growing.chain, node.inputs[1 - acc]);
    if (next.operand < 0) return false;
  } else if (step.function == "scale") {
    next.kind = Kind::affine;
    next.scale = step.scale;
    next.shift = step.shift;
  } else {
    const auto activation = activation_from_name(step.function);
    if (!activation) return false;
    next.kind = Kind::activation;
    next.activation = *activation;
  }
  growing.steps.push_back(next);
  growing.chain.attrs = encode_attrs(ElementwiseChain::Attrs{.steps = chain_text(growing.steps)});
  return growing.steps.size() <= kMaxChainSteps;
}

std::optional<Growing> begin(const Fusion& fusion, size_t head) {
  const Node& node = fusion.node(head);
  if (node.op->step == nullptr || fusion.taken(head)) return std::nullopt;
  if (node.op->kind == OpKind::inplace && !fusion.lone(node.inputs[0])) return std::nullopt;
  const TensorDesc& out = fusion.desc(node.output);
  const auto fits = [&](size_t i) {
    return fusion.desc(node.inputs[i]).shape == out.shape && fusion.desc(node.inputs[i]).dtype == out.dtype;
  };
  const size_t acc = fits(0) ? 0 : 1;
  if (acc == 1 && (node.inputs.size() < 2 || !fits(1))) return std::nullopt;
  Growing growing{{&op_def_elementwise_chain(), {}, {node.inputs[acc]}, {head}}, {}};
  return append(growing, node, acc) ? std::optional(std::move(growing)) : std::nullopt;
}

// Takes the node that follows, if it can be taken.
bool extend(const Fusion& fusion, Growing& growing) {
  const int64_t next = fusion.follower(growing.chain);
  if (next < 0) return false;
  const auto at = static_cast<size_t>(next);
  const Node& node = fusion.node(at);
  const Value v = fusion.node(growing.chain.links.back()).output;
  if (node.op->step == nullptr || !(fusion.desc(node.output) == fusion.desc(v))) return false;
  const size_t acc = node.inputs[0] == v ? 0 : 1;
  if (acc == 1 && node.op->kind == OpKind::inplace) return false;  // v is read, another tensor is written
  Growing longer = growing;
  if (!append(longer, node, acc) || !fusion.movable(growing.chain, at)) return false;
  if (!fusion.has_kernel(longer.chain, node.output)) return false;
  longer.chain.links.push_back(at);
  growing = std::move(longer);
  return true;
}

}  // namespace

Result<Graph> fuse_elementwise(const Graph& graph, PassContext& context) {
  CHIARO_ASSIGN(Fusion fusion, Fusion::start(graph, context));
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    auto growing = begin(fusion, i);
    if (!growing) continue;
    while (extend(fusion, *growing)) {
    }
    if (growing->steps.size() > 1) fusion.take(std::move(growing->chain));
  }
  return fusion.finish();
}

}  // namespace chiaro
