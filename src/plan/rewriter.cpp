#include "plan/rewriter.h"

namespace chiaro {

Rewriter::Rewriter(const Graph& old) : old_(old), map_(old.values().size(), kNone) {
  for (size_t i = 0; i < old.values().size(); ++i) {
    const ValueInfo& info = old.values()[i];
    if (info.producer >= 0) continue;
    const Storage& storage = old.storage(info.storage);
    const auto v = Value{static_cast<int32_t>(i)};
    if (storage.kind == StorageKind::input)
      map(v, builder_.input(storage.name, info.desc));
    else if (!storage.data)
      map(v, builder_.unbound(storage.kind, storage.name, info.desc));
    else if (storage.kind == StorageKind::weight)
      map(v, builder_.weight(storage.data));
    else
      map(v, builder_.constant(storage.data));
  }
}

std::vector<Value> Rewriter::mapped_inputs(const Node& node) const {
  std::vector<Value> inputs;
  inputs.reserve(node.inputs.size());
  for (const Value v : node.inputs) inputs.push_back(mapped(v));
  return inputs;
}

Value Rewriter::emit(const Node& like, const OpDef& op, AttrMap attrs, std::vector<Value> inputs) {
  builder_.set_module(like.module);
  builder_.pin_next(like.pin);
  builder_.place(like.device, like.moved, like.on_copy);
  const GraphBuilder::Scope scope(builder_, like.label);
  return builder_.add(op, std::move(attrs), std::move(inputs));
}

Result<Graph> Rewriter::finish() {
  for (const GraphOutput& output : old_.outputs()) builder_.output(output.name, mapped(output.value));
  return builder_.finish();
}

std::vector<int32_t> count_uses(const Graph& graph) {
  std::vector<int32_t> uses(graph.values().size(), 0);
  for (const Node& node : graph.nodes()) {
    for (const Value v : node.inputs) {
      if (v.valid()) ++uses[static_cast<size_t>(v.id)];
    }
  }
  for (const GraphOutput& output : graph.outputs()) ++uses[static_cast<size_t>(output.value.id)];
  return uses;
}

}  // namespace chiaro
