// canonicalise: drops nodes whose results nobody reads. An in-place node lives if any later value of its storage is
// read.
#include <algorithm>

#include "plan/passes/passes.h"
#include "plan/rewriter.h"

namespace chiaro {

Result<Graph> pass_canonicalise(const Graph& graph, PassContext& context) {
  std::vector<bool> live_value(graph.values().size(), false);
  std::vector<int32_t> live_version(graph.storages().size(), -1);  // newest version that somebody reads
  auto mark = [&](Value v) {
    live_value[static_cast<size_t>(v.id)] = true;
    auto& version = live_version[static_cast<size_t>(graph.info(v).storage)];
    version = std::max(version, graph.info(v).version);
  };
  for (const GraphOutput& output : graph.outputs()) mark(output.value);
  std::vector<bool> keep(graph.nodes().size(), false);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    const ValueInfo& out = graph.info(node.output);
    const bool written_and_read =
        node.op->kind == OpKind::inplace && live_version[static_cast<size_t>(out.storage)] >= out.version;
    keep[i] = live_value[static_cast<size_t>(node.output.id)] || written_and_read;
    if (!keep[i]) continue;
    for (const Value v : node.inputs) {
      if (v.valid()) mark(v);
    }
  }
  Rewriter rewriter(graph);
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (keep[i])
      rewriter.copy(graph.nodes()[i]);
    else
      ++context.changes;
  }
  return rewriter.finish();
}

}  // namespace chiaro
