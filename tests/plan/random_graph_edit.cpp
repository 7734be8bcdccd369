#include "random_graph_edit.h"

#include "graph/builder.h"
#include "plan/rewriter.h"

namespace chiaro::testing {
namespace {

Value replacement(GraphBuilder& g, const Node& node, const GraphEdit::Node what, const TensorDesc& desc,
                  const std::vector<Value>& inputs, size_t index) {
  if (what == GraphEdit::Node::forward && !inputs.empty() && inputs[0].valid() && g.desc(inputs[0]) == desc) {
    return inputs[0];
  }
  if (what == GraphEdit::Node::input && node.op->kind == OpKind::compute) {
    return g.input("cut" + std::to_string(index), desc);
  }
  return kNone;
}

}  // namespace

GraphEdit::GraphEdit(const Graph& graph)
    : nodes(graph.nodes().size(), Node::keep), outputs(graph.outputs().size(), true), pin(graph.nodes().size()) {
  for (size_t i = 0; i < pin.size(); ++i) pin[i] = graph.nodes()[i].pin;
  for (const GraphOutput& output : graph.outputs()) output_values.push_back(output.value);
}

Result<Graph> edited(const Graph& graph, const GraphEdit& edit) {
  Rewriter rewriter(graph);
  GraphBuilder& g = rewriter.builder();
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (edit.nodes[i] == GraphEdit::Node::drop) continue;
    std::vector<Value> inputs;
    for (const Value v : node.inputs) {
      inputs.push_back(rewriter.mapped(v));
      if (v.valid() && !inputs.back().valid())
        return Error{ErrorCode::usage, "a node reads what was left out", "", "", ""};
    }
    if (edit.nodes[i] != GraphEdit::Node::keep) {
      const Value v = replacement(g, node, edit.nodes[i], graph.info(node.output).desc, inputs, i);
      if (!v.valid()) return Error{ErrorCode::usage, "a node has no such replacement", "", "", ""};
      rewriter.map(node.output, v);
      continue;
    }
    g.set_module(edit.modules ? node.module : "");
    g.pin_next(edit.pin[i]);
    const GraphBuilder::Scope scope(g, node.label);
    rewriter.map(node.output, g.add(*node.op, node.attrs, std::move(inputs)));
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    if (edit.outputs[i]) g.output(graph.outputs()[i].name, rewriter.mapped(edit.output_values[i]));
  }
  return g.finish();
}

Graph stripped(const Graph& graph) {
  GraphEdit edit(graph);
  for (std::string& pin : edit.pin) pin.clear();
  return edited(graph, edit).value();
}

}  // namespace chiaro::testing
