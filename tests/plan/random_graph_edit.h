// Graphs with nodes left out, pinned or freed: for random cases, for shrinking them, and for the same graph without its
// placement.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace chiaro::testing {

struct GraphEdit {
  enum class Node { keep, forward, input, drop };  // forward: the first operand instead; input: a new input instead
  explicit GraphEdit(const Graph& graph);
  std::vector<Node> nodes;
  std::vector<bool> outputs;         // which are kept
  std::vector<Value> output_values;  // what each stands for
  std::vector<std::string> pin;      // of each node
  bool modules = true;               // kept
};

// Without the planner's marks (device, moved, on_copy). Errors: what the builder refuses in the edited graph.
Result<Graph> edited(const Graph& graph, const GraphEdit& edit);

// The same graph without pins and the planner's marks.
Graph stripped(const Graph& graph);

}  // namespace chiaro::testing
