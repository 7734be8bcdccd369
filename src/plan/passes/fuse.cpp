// fuse: rewrites chains into ops with fused attributes. Rules, each by what an op declares, not by its name:
//   affine      op with an absent optional "weight":   y * w[C]            -> weight
//   bias        op with an absent optional "bias":     y + b[C]            -> bias
//   activation  op with an attribute "act" = none:     silu(y), gelu(y)... -> act
//   residual    op with an absent optional "residual": y + r (same shape)  -> residual
// in that order, for in-place and functional followers alike. A link is taken only if nobody else reads the
// intermediate value and the device has a kernel for the longer op; the fused node stands where the last link stood.
#include <algorithm>
#include <optional>

#include "ops/activation.h"
#include "plan/passes/passes.h"
#include "plan/rewriter.h"

namespace chiaro {
namespace {

// The last thing fused so far; later stages may follow, earlier ones may not.
enum Stage { kNothing = 0, kWeight = 1, kBias = 2, kAct = 3, kResidual = 4 };

struct Chain {
  const Node* head = nullptr;
  AttrMap attrs;
  std::vector<Value> inputs;  // of the old graph
  int stage = kNothing;
  size_t last = 0;            // node index of the last link
  std::vector<size_t> links;  // node indices after the head
};

int find_input(const OpDef& op, std::string_view name) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].name == name && op.inputs[i].optional) return static_cast<int>(i);
  }
  return -1;
}

// "add" for add and add_; "" for other names.
std::string_view base_name(const OpDef& op) {
  std::string_view name = op.name;
  if (op.kind == OpKind::inplace && name.ends_with('_')) name.remove_suffix(1);
  return name;
}

class FusePass {
 public:
  FusePass(const Graph& graph, PassContext& context)
      : graph_(graph), context_(context), uses_(count_uses(graph)), reader_(graph.values().size(), -1) {
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      for (const Value v : graph.nodes()[i].inputs) {
        if (v.valid()) reader_[static_cast<size_t>(v.id)] = static_cast<int64_t>(i);
      }
    }
  }

  Result<Graph> run() {
    std::vector<std::optional<Chain>> emit_at(graph_.nodes().size());
    std::vector<bool> absorbed(graph_.nodes().size(), false);
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (absorbed[i] || find_attr(graph_.nodes()[i].op->default_attrs, "act") == nullptr) continue;
      Chain chain = grow(i, absorbed);
      if (chain.links.empty()) continue;
      absorbed[i] = true;
      for (const size_t link : chain.links) absorbed[link] = true;
      context_.changes += static_cast<int>(chain.links.size());
      const size_t at = chain.last;
      emit_at[at] = std::move(chain);
    }
    Rewriter rewriter(graph_);
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (emit_at[i]) {
        std::vector<Value> inputs;
        for (const Value v : emit_at[i]->inputs) {
          inputs.push_back(rewriter.mapped(v));
          if (v.valid() && !inputs.back().valid()) {
            return Error{ErrorCode::internal, "fuse lost an operand of a chain", "", "", node.label};
          }
        }
        rewriter.map(node.output, rewriter.emit(*emit_at[i]->head, *emit_at[i]->head->op, emit_at[i]->attrs, inputs));
      } else if (!absorbed[i]) {
        rewriter.copy(node);
      }
    }
    return rewriter.finish();
  }

 private:
  // `absorbed`: nodes that belong to a chain already; an add of two results can be the residual of one of them only.
  Chain grow(size_t start, const std::vector<bool>& absorbed) const {
    Chain chain;
    chain.head = &graph_.nodes()[start];
    chain.attrs = chain.head->attrs;
    chain.inputs = chain.head->inputs;
    chain.inputs.resize(chain.head->op->inputs.size(), kNone);
    chain.last = start;
    const AttrValue* act = find_attr(chain.attrs, "act");
    if (act != nullptr && *act != AttrValue(std::string("none"))) return chain;
    for (Value v = chain.head->output;;) {
      if (uses_[static_cast<size_t>(v.id)] != 1) return chain;
      const int64_t reader = reader_[static_cast<size_t>(v.id)];
      if (reader < 0 || absorbed[static_cast<size_t>(reader)]) return chain;  // a graph output, or taken
      const Node& next = graph_.nodes()[static_cast<size_t>(reader)];
      Chain longer = chain;
      if (!link(longer, v, next) || !has_kernel(longer, next)) return chain;
      longer.last = static_cast<size_t>(reader);
      longer.links.push_back(longer.last);
      chain = std::move(longer);
      v = next.output;
    }
  }

  // Tries to take `next`, which reads `v`, into the chain.
  bool link(Chain& chain, Value v, const Node& next) const {
    const std::string_view name = base_name(*next.op);
    if (name == "add" || name == "mul") {
      const bool left = next.inputs[0] == v;
      if (!left && next.op->kind == OpKind::inplace) return false;  // v is read, another tensor is written
      return take_operand(chain, v, left ? next.inputs[1] : next.inputs[0], name == "mul");
    }
    const auto act = activation_from_name(name);
    if (!act || *act == Activation::none || chain.stage >= kAct) return false;
    if (next.op->default_attrs != next.attrs) return false;  // gelu{tanh}: not the plain one
    for (auto& [key, value] : chain.attrs) {
      if (key == "act") value = std::string(activation_name(*act));
    }
    chain.stage = kAct;
    return true;
  }

  bool take_operand(Chain& chain, Value v, Value other, bool multiply) const {
    const TensorDesc& out = graph_.info(v).desc;
    const TensorDesc& operand = graph_.info(other).desc;
    const bool per_channel = operand.rank() == 1 && operand.shape[0] == out.shape[-1];
    const bool same = operand.shape == out.shape;
    const int stage = multiply ? kWeight : per_channel ? kBias : same ? kResidual : kNothing;
    if (stage == kNothing || chain.stage >= stage || (multiply && !per_channel)) return false;
    const int slot = find_input(*chain.head->op, stage == kWeight ? "weight" : stage == kBias ? "bias" : "residual");
    if (slot < 0 || chain.inputs[static_cast<size_t>(slot)].valid()) return false;
    chain.inputs[static_cast<size_t>(slot)] = other;
    chain.stage = stage;
    return true;
  }

  bool has_kernel(const Chain& chain, const Node& next) const {
    std::vector<Operand> operands;
    for (const Value v : chain.inputs) operands.push_back(operand_of(graph_, v));
    Operand out = operand_of(graph_, next.output);
    if (!out.desc.contiguous()) return false;
    return choose_kernel(*context_.devices.front(), *chain.head->op, chain.attrs, operands, out).ok();
  }

  const Graph& graph_;
  PassContext& context_;
  std::vector<int32_t> uses_;
  std::vector<int64_t> reader_;  // the (last) node that reads each value
};

}  // namespace

Result<Graph> pass_fuse(const Graph& graph, PassContext& context) {
  return FusePass(graph, context).run();
}

}  // namespace chiaro
