// Rewriter: how passes change graphs. Graphs are immutable, so a pass builds a new one node by node.
#pragma once

#include <vector>

#include "graph/builder.h"

namespace chiaro {

// Usage: for each old node either copy(node) or emit something else and map(old output, new value).
class Rewriter {
 public:
  explicit Rewriter(const Graph& old);
  GraphBuilder& builder() { return builder_; }
  Value mapped(Value old) const { return old.valid() ? map_[static_cast<size_t>(old.id)] : kNone; }
  void map(Value old, Value now) { map_[static_cast<size_t>(old.id)] = now; }
  std::vector<Value> mapped_inputs(const Node& node) const;
  // Adds a node like `node` (label, module, pin) with the given op, attributes and new-graph inputs.
  Value emit(const Node& like, const OpDef& op, AttrMap attrs, std::vector<Value> inputs);
  void copy(const Node& node) { map(node.output, emit(node, *node.op, node.attrs, mapped_inputs(node))); }
  // Maps the outputs and finishes.
  Result<Graph> finish();

 private:
  const Graph& old_;
  GraphBuilder builder_;
  std::vector<Value> map_;
};

// The number of reads of each value: by nodes, and as graph outputs. Views count as reads of their input.
std::vector<int32_t> count_uses(const Graph& graph);

}  // namespace chiaro
