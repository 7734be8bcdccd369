#include "graph/builder.h"

#include <utility>

#include "graph/after.h"

namespace chiaro {

Value GraphBuilder::new_value(int32_t storage, int32_t version, const TensorDesc& desc, int64_t offset,
                              int32_t producer) {
  graph_.values_.push_back({storage, version, desc, offset, producer});
  return {static_cast<int32_t>(graph_.values_.size()) - 1};
}

Value GraphBuilder::source(StorageKind kind, std::string name, const TensorDesc& desc, TensorDataPtr data) {
  if (failed()) return kNone;
  if (auto count = checked_element_count(desc.shape); !count.ok()) return fail(std::move(count).error().at(name));
  graph_.storages_.push_back({kind, desc.span_bytes(), 0, std::move(name), std::move(data)});
  return new_value(static_cast<int32_t>(graph_.storages_.size()) - 1, 0, desc, 0, -1);
}

Value GraphBuilder::input(std::string name, const TensorDesc& desc) {
  const Value v = source(StorageKind::input, std::move(name), desc, nullptr);
  if (v.valid()) graph_.inputs_.push_back(v);
  return v;
}

Value GraphBuilder::weight(TensorDataPtr data) {
  const TensorDesc desc = data->desc;
  std::string name = data->name;  // read before `data` moves: arguments are evaluated in any order
  const void* bytes = data->bytes;
  if (bytes == nullptr) bytes = data.get();
  Value& known = weights_[{bytes, desc.text(), name}];
  if (!known.valid()) known = source(StorageKind::weight, std::move(name), desc, std::move(data));
  return known;
}

Value GraphBuilder::constant(TensorDataPtr data) {
  const TensorDesc desc = data->desc;
  std::string name = data->name;  // read before `data` moves: arguments are evaluated in any order
  return source(StorageKind::constant, std::move(name), desc, std::move(data));
}

Value GraphBuilder::unbound(StorageKind kind, std::string name, const TensorDesc& desc) {
  return source(kind, std::move(name), desc, nullptr);
}

Status GraphBuilder::check_arity(const OpDef& op, const std::vector<Value>& inputs) const {
  const size_t most = op.inputs.size();
  if (inputs.size() > most && !op.variadic) {
    return op_error(op.name, std::to_string(inputs.size()) + " inputs", "it takes at most " + std::to_string(most));
  }
  for (size_t i = 0; i < most; ++i) {
    const bool present = i < inputs.size() && inputs[i].valid();
    const bool may_miss = op.inputs[i].optional || (op.variadic && i + 1 == most && i > 0);
    if (!present && !may_miss) {
      return op_error(op.name, "a call without " + std::string(op.inputs[i].name),
                      "input " + std::to_string(i) + " is not optional");
    }
  }
  for (const Value v : inputs) {
    if (v.valid() && v.id >= static_cast<int32_t>(graph_.values_.size())) {
      return op_error(op.name, "a value of another graph", "it is not known here");
    }
  }
  return {};
}

Status GraphBuilder::check_write(const OpDef& op, Value target) const {
  const ValueInfo& info = graph_.info(target);
  const Storage& storage = graph_.storage(info.storage);
  const std::string name = storage.name.empty() ? "the tensor" : "\"" + storage.name + "\"";
  if (storage.kind == StorageKind::weight || storage.kind == StorageKind::constant) {
    return op_error(op.name, "to write into " + name, "weights and constants are never changed",
                    "use the op that makes a new tensor, or copy first");
  }
  if (info.version != storage.latest_version) {
    return op_error(op.name, "to write into an old version of " + name,
                    "it is version " + std::to_string(info.version) + " of " + std::to_string(storage.latest_version),
                    "write through the newest version (GraphBuilder::latest)");
  }
  if (info.desc.has_broadcast() || info.desc.self_overlapping()) {
    return op_error(op.name, "to write into " + info.desc.text(), "two of its elements share memory",
                    "make it contiguous first");
  }
  return {};
}

Value GraphBuilder::add(const OpDef& op, AttrMap attrs, std::vector<Value> inputs) {
  if (failed()) return kNone;
  if (auto s = check_arity(op, inputs); !s.ok()) return fail(std::move(s).error());
  if (auto s = op.check_attrs(attrs); !s.ok()) return fail(std::move(s).error().at(op.name));
  std::vector<const TensorDesc*> descs;
  descs.reserve(inputs.size());
  for (const Value v : inputs) descs.push_back(v.valid() ? &graph_.info(v).desc : nullptr);
  while (descs.size() < op.inputs.size() && !op.variadic) {
    descs.push_back(nullptr);
    inputs.push_back(kNone);
  }
  Node node;
  node.op = &op;
  node.attrs = std::move(attrs);
  node.inputs = std::move(inputs);
  node.label = scope_;
  node.module = module_;
  node.pin = std::exchange(pin_, {});
  node.device = device_;
  node.moved = moved_;
  node.on_copy = on_copy_;
  return add_checked(op, std::move(node), descs);
}

Value GraphBuilder::add_checked(const OpDef& op, Node node, InputDescs descs) {
  const auto id = static_cast<int32_t>(graph_.nodes_.size());
  if (op.kind == OpKind::view) {
    auto view = op.view(node.attrs, descs);
    if (!view.ok()) return fail(std::move(view).error());
    const ValueInfo base = graph_.info(node.inputs[0]);
    int32_t version = base.version;
    if (&op == &after_op()) {  // (x, w): x's view of its storage as w left it
      const ValueInfo& w = graph_.info(node.inputs[1]);
      if (w.storage != base.storage) return fail(op_error(op.name, "these inputs", "they lie in different storages"));
      if (w.version != graph_.storage(w.storage).latest_version) {
        return fail(op_error(op.name, "an old version", "only the newest version of a storage can be looked at again"));
      }
      version = w.version;
    }
    node.output = new_value(base.storage, version, view->desc, base.offset_bytes + view->offset_bytes, id);
  } else {
    auto out = op.infer(node.attrs, descs);
    if (!out.ok()) return fail(std::move(out).error());
    if (auto count = checked_element_count(out->shape); !count.ok()) return fail(std::move(count).error().at(op.name));
    if (op.kind == OpKind::inplace) {
      if (auto s = check_write(op, node.inputs[0]); !s.ok()) return fail(std::move(s).error());
      const ValueInfo base = graph_.info(node.inputs[0]);
      const int32_t version = ++graph_.storages_[static_cast<size_t>(base.storage)].latest_version;
      node.output = new_value(base.storage, version, base.desc, base.offset_bytes, id);
    } else {
      graph_.storages_.push_back({StorageKind::temp, out->dense_bytes(), 0, {}, nullptr});
      node.output = new_value(static_cast<int32_t>(graph_.storages_.size()) - 1, 0, *out, 0, id);
    }
  }
  const Value result = node.output;
  graph_.nodes_.push_back(std::move(node));
  return result;
}

Value GraphBuilder::latest(Value x) {
  if (failed() || !x.valid()) return kNone;
  const ValueInfo info = graph_.info(x);
  const Storage& storage = graph_.storage(info.storage);
  if (info.version == storage.latest_version) return x;
  for (auto i = static_cast<int32_t>(graph_.values_.size()) - 1; i >= 0; --i) {
    const ValueInfo& w = graph_.values_[static_cast<size_t>(i)];
    if (w.storage == info.storage && w.version == storage.latest_version) return add(after_op(), {}, {x, Value{i}});
  }
  return fail({ErrorCode::internal, "no value holds the newest version", "", "", ""});
}

void GraphBuilder::output(std::string name, Value v) {
  if (failed()) return;
  if (!v.valid()) {
    fail({ErrorCode::internal, "output \"" + name + "\" has no value", "", "", ""});
    return;
  }
  graph_.outputs_.push_back({std::move(name), v});
}

const TensorDesc& GraphBuilder::desc(Value v) const {
  static const TensorDesc kNothing{DType::f32, Dims::filled(4, 1), Dims::filled(4, 0)};
  // After a failure models may still ask for shapes: give them something harmless, finish() reports the error.
  return v.valid() && v.id < static_cast<int32_t>(graph_.values_.size()) ? graph_.info(v).desc : kNothing;
}

Value GraphBuilder::fail(Error error) {
  if (status_.ok()) status_ = scope_.empty() ? std::move(error) : std::move(error).at(scope_);
  return kNone;
}

Result<Graph> GraphBuilder::finish() {
  if (failed()) return status_.error();
  return std::move(graph_);
}

GraphBuilder::Scope::Scope(GraphBuilder& g, std::string_view name) : g_(g), length_(g.scope_.size()) {
  if (!g_.scope_.empty() && !name.empty()) g_.scope_ += '.';
  g_.scope_ += name;
}

GraphBuilder::Scope::~Scope() {
  g_.scope_.resize(length_);
}

}  // namespace chiaro
