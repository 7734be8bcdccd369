// Whether a graph is well formed: what every pass must leave behind.
#include <string>
#include <utility>
#include <vector>

#include "plan/verify.h"

namespace chiaro {
namespace {

class GraphVerifier {
 public:
  explicit GraphVerifier(const Graph& graph)
      : graph_(graph), defined_(graph.values().size(), false), version_(graph.storages().size(), -1) {}

  Status run() {
    CHIARO_TRY(check_sources());
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (auto status = check_node(node, static_cast<int32_t>(i)); !status.ok()) {
        return Error{ErrorCode::internal, "node " + std::to_string(i) + " of the graph is malformed",
                     status.error().what, status.error().mend, node.label};
      }
    }
    for (size_t i = 0; i < defined_.size(); ++i) {
      if (!defined_[i]) return bad("value %" + std::to_string(i) + " has no producer");
    }
    for (size_t s = 0; s < version_.size(); ++s) {
      if (version_[s] != graph_.storages()[s].latest_version) {
        return bad("storage " + std::to_string(s) + " ends at version " + std::to_string(version_[s]));
      }
    }
    for (const GraphOutput& output : graph_.outputs()) {
      if (!known(output.value)) return bad("output \"" + output.name + "\" is no value of it");
    }
    return {};
  }

 private:
  static Error bad(std::string what) {
    return {ErrorCode::internal, "the graph is malformed: " + std::move(what), "", "", ""};
  }
  static Error node_error(std::string what) { return {ErrorCode::internal, std::move(what), "", "", ""}; }
  bool known(Value v) const {
    return v.valid() && static_cast<size_t>(v.id) < defined_.size() && defined_[static_cast<size_t>(v.id)];
  }

  Status check_sources() {
    size_t inputs = 0;
    for (size_t i = 0; i < graph_.values().size(); ++i) {
      const ValueInfo& info = graph_.values()[i];
      if (info.storage < 0 || static_cast<size_t>(info.storage) >= version_.size()) {
        return bad("value %" + std::to_string(i) + " has no storage");
      }
      if (info.producer >= 0) continue;
      const StorageKind kind = graph_.storage(info.storage).kind;
      const bool first = version_[static_cast<size_t>(info.storage)] < 0;
      if (!first || kind == StorageKind::temp || info.version != 0 || info.offset_bytes != 0) {
        return bad("value %" + std::to_string(i) + " is no source of its storage");
      }
      version_[static_cast<size_t>(info.storage)] = 0;
      defined_[i] = true;
      if (kind != StorageKind::input) continue;
      const Value v{static_cast<int32_t>(i)};
      if (inputs >= graph_.inputs().size() || graph_.inputs()[inputs] != v) return bad("its inputs are not listed");
      ++inputs;
    }
    return inputs == graph_.inputs().size() ? Status{} : bad("it lists inputs that it has not");
  }

  Status check_node(const Node& node, int32_t id) {
    if (node.op == nullptr) return node_error("it has no op");
    descs_.clear();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value v = node.inputs[i];
      if (v.valid() && !known(v)) return node_error("%" + std::to_string(v.id) + " is read before it is defined");
      descs_.push_back(v.valid() ? &graph_.info(v).desc : nullptr);
    }
    if (node.op->kind != OpKind::compute && (node.inputs.empty() || !node.inputs[0].valid())) {
      return node_error("it has nothing to look at or to write");
    }
    const Value v = node.output;
    if (!v.valid() || static_cast<size_t>(v.id) >= defined_.size() || known(v) || graph_.info(v).producer != id) {
      return node_error("its result is not its own");
    }
    switch (node.op->kind) {
      case OpKind::compute: CHIARO_TRY(check_compute(node)); break;
      case OpKind::view: CHIARO_TRY(check_view(node)); break;
      case OpKind::inplace: CHIARO_TRY(check_inplace(node)); break;
    }
    defined_[static_cast<size_t>(v.id)] = true;
    const ValueInfo& out = graph_.info(v);
    if (out.offset_bytes < 0 || out.offset_bytes + out.desc.span_bytes() > graph_.storage(out.storage).bytes) {
      return node_error("its result " + out.desc.text() + " leaves its storage");
    }
    return {};
  }

  Status check_compute(const Node& node) {
    const ValueInfo& out = graph_.info(node.output);
    const Storage& storage = graph_.storage(out.storage);
    int32_t& version = version_[static_cast<size_t>(out.storage)];
    if (version >= 0 || storage.kind != StorageKind::temp || out.version != 0 || out.offset_bytes != 0) {
      return node_error("its result is no fresh storage");
    }
    version = 0;
    CHIARO_ASSIGN(const TensorDesc inferred, node.op->infer(node.attrs, descs_));
    if (inferred == out.desc && storage.bytes == inferred.dense_bytes()) return {};
    return node_error("its result is " + out.desc.text() + ", the op infers " + inferred.text());
  }

  Status check_view(const Node& node) {
    const ValueInfo& in = graph_.info(node.inputs[0]);
    const ValueInfo& out = graph_.info(node.output);
    // A view of two inputs looks at the first at the version of the second, which lies in the same storage.
    const ValueInfo& when = node.inputs.size() > 1 && node.inputs[1].valid() ? graph_.info(node.inputs[1]) : in;
    if (out.storage != in.storage || when.storage != in.storage || out.version != when.version) {
      return node_error("a view of another storage or version");
    }
    CHIARO_ASSIGN(const ViewResult view, node.op->view(node.attrs, descs_));
    if (view.desc == out.desc && in.offset_bytes + view.offset_bytes == out.offset_bytes) return {};
    return node_error("its view is " + out.desc.text() + ", the op makes " + view.desc.text());
  }

  Status check_inplace(const Node& node) {
    const ValueInfo& target = graph_.info(node.inputs[0]);
    const ValueInfo& out = graph_.info(node.output);
    const StorageKind kind = graph_.storage(target.storage).kind;
    if (kind == StorageKind::weight || kind == StorageKind::constant) return node_error("it writes a weight");
    int32_t& version = version_[static_cast<size_t>(target.storage)];
    if (target.version != version || out.version != version + 1 || out.storage != target.storage) {
      return node_error("it writes version " + std::to_string(out.version) + " over " + std::to_string(target.version) +
                        ", the newest is " + std::to_string(version));
    }
    version = out.version;
    if (!(out.desc == target.desc) || out.offset_bytes != target.offset_bytes || target.desc.self_overlapping()) {
      return node_error("its result is not its target");
    }
    CHIARO_TRY(node.op->infer(node.attrs, descs_));
    return {};
  }

  const Graph& graph_;
  std::vector<bool> defined_;     // by value
  std::vector<int32_t> version_;  // the newest so far, by storage; -1: not made yet
  std::vector<const TensorDesc*> descs_;
};

}  // namespace

Status verify_graph(const Graph& graph) {
  return GraphVerifier(graph).run();
}

}  // namespace chiaro
