// fuse.rope: an op takes what comes before it into its own inputs and attributes, by what it declares
// (OpDef::prologue): rope_apply computes the rms_norm of its heads itself. After fuse.norm, which gives the norm its
// weight.
#include <algorithm>

#include "plan/passes/fusion.h"

namespace chiaro {
namespace {

// The attributes of `last` with those of `first` that are known by the same name; false where one that differs from its
// default is not.
bool join_attrs(const Node& first, const Node& last, AttrMap& joined) {
  joined = last.attrs;
  for (const auto& [key, value] : first.attrs) {
    const auto own =
        std::find_if(joined.begin(), joined.end(), [&name = key](const auto& a) { return a.first == name; });
    if (own != joined.end()) {
      own->second = value;
      continue;
    }
    const AttrValue* usual = find_attr(first.op->default_attrs, key);
    if (usual == nullptr || !(*usual == value)) return false;
  }
  for (auto& [key, value] : joined) {
    if (key == last.op->prologue.flag) value = true;
  }
  return true;
}

// The inputs of `last`, with the first of `first` in place of its result and the others under their names.
bool join_inputs(const Node& first, const Node& last, std::vector<Value>& joined) {
  joined = last.inputs;
  joined.resize(last.op->inputs.size(), kNone);
  joined[0] = first.inputs[0];
  for (size_t i = 1; i < first.inputs.size(); ++i) {
    if (!first.inputs[i].valid()) continue;
    const int slot = find_input(*last.op, first.op->inputs[i].name);
    if (slot < 0 || joined[static_cast<size_t>(slot)].valid()) return false;
    joined[static_cast<size_t>(slot)] = first.inputs[i];
  }
  return true;
}

// Node `head` and the one that reads it as one chain; of one link where they do not join.
FusedChain join(const Fusion& fusion, PassContext& context, size_t head) {
  const Node& first = fusion.node(head);
  FusedChain chain{first.op, first.attrs, first.inputs, {head}};
  if (first.op->kind != OpKind::compute) return chain;
  const int64_t next = fusion.follower(chain);
  if (next < 0) return chain;
  const auto at = static_cast<size_t>(next);
  const Node& last = fusion.node(at);
  const Prologue& prologue = last.op->prologue;
  if (prologue.op != first.op->name || prologue.op.empty() || !(last.inputs[0] == first.output)) return chain;
  if (context.skips("fuse." + std::string(prologue.rewrite))) return chain;
  const AttrValue* flag = find_attr(last.attrs, prologue.flag);
  if (flag == nullptr || !(*flag == AttrValue(false)) || !fusion.movable(chain, at)) return chain;
  FusedChain joined{last.op, {}, {}, {head, at}};
  if (!join_attrs(first, last, joined.attrs) || !join_inputs(first, last, joined.inputs)) return chain;
  if (!fusion.well_formed(joined, last.output) || !fusion.has_kernel(joined, last.output)) return chain;
  return joined;
}

}  // namespace

Result<Graph> fuse_prologues(const Graph& graph, PassContext& context) {
  CHIARO_ASSIGN(Fusion fusion, Fusion::start(graph, context));
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (fusion.taken(i)) continue;
    FusedChain chain = join(fusion, context, i);
    if (chain.links.size() > 1) fusion.take(std::move(chain));
  }
  return fusion.finish();
}

}  // namespace chiaro
