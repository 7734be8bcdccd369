// pack: a view that another device reads is copied with the gaps between its elements. Where the gaps would be more
// than the elements, its owner first packs it; its readers on other devices then share the packed copy.
#include <algorithm>
#include <map>
#include <tuple>

#include "ops/contiguous/op.h"
#include "plan/passes/placement.h"
#include "plan/rewriter.h"

namespace chiaro {
namespace {

class PackPass {
 public:
  PackPass(const Graph& graph, PassContext& context)
      : graph_(graph),
        context_(context),
        owners_(storage_owners(graph, context)),
        packed_(graph.values().size(), kNone) {}

  Result<Graph> run() {
    measure();
    Rewriter rewriter(graph_);
    for (const Node& node : graph_.nodes()) {
      if (node.op->kind == OpKind::view) {
        rewriter.copy(node);
        continue;
      }
      std::vector<Value> inputs = rewriter.mapped_inputs(node);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (wasteful(node, i)) inputs[i] = packed(rewriter, node, node.inputs[i]);
      }
      rewriter.map(node.output, rewriter.emit(node, *node.op, node.attrs, std::move(inputs)));
    }
    return rewriter.finish();
  }

 private:
  struct Copied {
    int64_t begin = 0, end = 0, dense = 0;
    std::vector<int32_t> values;
  };
  using Key = std::tuple<int32_t, int32_t, int32_t>;  // storage, version, device

  // Whether operand `i` is read from another device's memory.
  bool crosses(const Node& node, size_t i) const {
    if (!node.inputs[i].valid() || (node.op->kind == OpKind::inplace && i == 0)) return false;
    const int32_t owner = owners_[static_cast<size_t>(graph_.info(node.inputs[i]).storage)];
    const int32_t here = context_.find(node.device);
    return owner >= 0 && here >= 0 && owner != here &&
           !context_.devices[static_cast<size_t>(here)]->addresses(*context_.devices[static_cast<size_t>(owner)]);
  }

  Key key(const Node& node, size_t i) const {
    const ValueInfo& info = graph_.info(node.inputs[i]);
    return {info.storage, info.version, context_.find(node.device)};
  }

  void measure() {
    for (const Node& node : graph_.nodes()) {
      if (node.op->kind == OpKind::view) continue;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!crosses(node, i)) continue;
        const Value v = node.inputs[i];
        const ValueInfo& info = graph_.info(v);
        const int64_t end = info.offset_bytes + info.desc.span_bytes();
        const auto [found, fresh] = copied_.try_emplace(key(node, i), Copied{info.offset_bytes, end, 0, {}});
        Copied& c = found->second;
        c.begin = std::min(c.begin, info.offset_bytes);
        c.end = std::max(c.end, end);
        if (std::find(c.values.begin(), c.values.end(), v.id) != c.values.end()) continue;
        c.values.push_back(v.id);
        c.dense += info.desc.dense_bytes();
      }
    }
  }

  bool wasteful(const Node& node, size_t i) const {
    if (node.op->kind == OpKind::view || !crosses(node, i)) return false;
    const ValueInfo& info = graph_.info(node.inputs[i]);
    if (info.desc.contiguous() || is_block(info.desc.dtype)) return false;
    const Copied& c = copied_.at(key(node, i));
    return c.end - c.begin > 2 * c.dense;
  }

  Value packed(Rewriter& rewriter, const Node& reader, Value v) {
    Value& kept = packed_[static_cast<size_t>(v.id)];
    if (kept.valid()) return kept;
    const int32_t owner = owners_[static_cast<size_t>(graph_.info(v).storage)];
    Node node;
    node.op = &op_def_contiguous();
    node.inputs = {v};
    node.module = reader.module;
    node.label = reader.label;
    node.device = context_.devices[static_cast<size_t>(owner)]->traits().name;
    const Operand out{dense(graph_.info(v).desc.dtype, graph_.info(v).desc.shape), 64, true};
    const Operand in = operand_of(graph_, v);
    if (!choose_kernel(*context_.devices[static_cast<size_t>(owner)], *node.op, {}, {&in, 1}, out).ok()) {
      return rewriter.mapped(v);  // the gaps are copied, too
    }
    ++context_.changes;
    return kept = rewriter.emit(node, *node.op, {}, {rewriter.mapped(v)});
  }

  const Graph& graph_;
  PassContext& context_;
  std::vector<int32_t> owners_;
  std::map<Key, Copied> copied_;
  std::vector<Value> packed_;  // by value of the old graph
};

}  // namespace

Result<Graph> pass_pack(const Graph& graph, PassContext& context) {
  if (context.devices.size() == 1) return graph;
  return PackPass(graph, context).run();
}

}  // namespace chiaro
