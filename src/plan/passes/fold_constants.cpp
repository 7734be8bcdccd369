// fold_constants: what constants alone decide is computed once, while planning, by the double-precision references, and
// stored as a constant of the node's dtype.
//
// Views of constants stay where they are read: a view costs nothing and kernels read constants through views; a node
// behind one is folded through it. What only folded nodes read goes, views and results in between. Weights are left
// alone (they belong to files and to residency), as are nodes with a pin, host functions (they run when the graph
// runs), results that are written in place, and whatever would make a plan slow or large.
#include <algorithm>
#include <memory>
#include <variant>
#include <vector>

#include "core/tensor.h"
#include "plan/passes/passes.h"
#include "plan/rewriter.h"

namespace chiaro {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 20;  // of a result
constexpr int64_t kMostRead = int64_t{1} << 22;      // elements of all inputs
constexpr double kMostFlops = 1 << 24;               // references take about a nanosecond for each

class FoldPass {
 public:
  FoldPass(const Graph& graph, PassContext& context)
      : graph_(graph), context_(context), known_(graph.storages().size()) {
    for (size_t s = 0; s < graph.storages().size(); ++s) {
      const Storage& storage = graph.storages()[s];
      if (storage.kind == StorageKind::constant && storage.data && !is_block(storage.data->desc.dtype)) {
        known_[s] = storage.data;
      }
    }
  }

  Result<Graph> run() {
    for (const Node& node : graph_.nodes()) {
      if (foldable(node)) known_[storage_index(node.output)] = evaluate(node);
    }
    const std::vector<bool> read = read_at_run_time();
    Rewriter rewriter(graph_);
    for (const Node& node : graph_.nodes()) {
      const TensorDataPtr& data = known_[storage_index(node.output)];
      if (data == nullptr) {
        rewriter.copy(node);
        continue;
      }
      if (node.op->kind == OpKind::compute) ++context_.changes;
      if (!read[static_cast<size_t>(node.output.id)]) continue;
      if (node.op->kind == OpKind::view)
        rewriter.copy(node);
      else
        rewriter.map(node.output, rewriter.builder().constant(data));
    }
    return rewriter.finish();
  }

 private:
  size_t storage_index(Value v) const { return static_cast<size_t>(graph_.info(v).storage); }
  const TensorData* known(Value v) const { return known_[storage_index(v)].get(); }

  // By value: whether a node that stays, or a graph output, reads it, through views or not.
  std::vector<bool> read_at_run_time() const {
    std::vector<bool> read(graph_.values().size(), false);
    for (const GraphOutput& output : graph_.outputs()) read[static_cast<size_t>(output.value.id)] = true;
    for (size_t i = graph_.nodes().size(); i-- > 0;) {
      const Node& node = graph_.nodes()[i];
      const bool folded = known(node.output) != nullptr;
      if (folded && (node.op->kind == OpKind::compute || !read[static_cast<size_t>(node.output.id)])) continue;
      for (const Value v : node.inputs) {
        if (v.valid()) read[static_cast<size_t>(v.id)] = true;
      }
    }
    return read;
  }

  bool foldable(const Node& node) const {
    const OpDef& op = *node.op;
    if (op.kind != OpKind::compute || !op.deterministic || op.reference == nullptr || !node.pin.empty()) return false;
    const auto host = [](const auto& attr) {
      return std::holds_alternative<std::shared_ptr<const HostFunction>>(attr.second);
    };
    if (std::any_of(node.attrs.begin(), node.attrs.end(), host)) return false;
    const ValueInfo& out = graph_.info(node.output);
    const bool written = graph_.storage(out.storage).latest_version > 0;
    if (written || is_block(out.desc.dtype) || out.desc.count() > kMostElements) return false;
    int64_t read = 0;
    std::vector<const TensorDesc*> descs;
    for (const Value v : node.inputs) {
      descs.push_back(v.valid() ? &graph_.info(v).desc : nullptr);
      if (!v.valid()) continue;
      if (known(v) == nullptr) return false;
      read += graph_.info(v).desc.count();
    }
    return read <= kMostRead && op.cost(node.attrs, descs, out.desc).flops <= kMostFlops;
  }

  RefTensor gather(Value v) const {
    if (!v.valid()) return {{}, {}, false};
    const ValueInfo& info = graph_.info(v);
    const TensorData& data = *known(v);
    RefTensor out{info.desc.shape, std::vector<double>(static_cast<size_t>(info.desc.count())), true};
    const int64_t start = info.offset_bytes / unit_bytes(info.desc.dtype);
    for_each_element(info.desc, [&](int64_t i, int64_t offset) {
      out.data[static_cast<size_t>(i)] = load_element(info.desc.dtype, data.bytes, start + offset);
    });
    return out;
  }

  // Null where the reference refuses: the node then stays and reports it when it runs.
  TensorDataPtr evaluate(const Node& node) const {
    std::vector<RefTensor> inputs;
    for (const Value v : node.inputs) inputs.push_back(gather(v));
    const TensorDesc& desc = graph_.info(node.output).desc;
    RefTensor result{desc.shape, std::vector<double>(static_cast<size_t>(desc.count())), true};
    if (!node.op->reference(node.attrs, inputs, result).ok()) return nullptr;
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(desc.dense_bytes()));
    for (size_t i = 0; i < result.data.size(); ++i) {
      store_element(desc.dtype, bytes->data(), static_cast<int64_t>(i), result.data[i]);
    }
    TensorData data;
    data.name = node.label.empty() ? std::string(node.op->name) : node.label;
    data.desc = desc;
    data.bytes = bytes->data();
    data.owner = std::move(bytes);
    return std::make_shared<const TensorData>(std::move(data));
  }

  const Graph& graph_;
  PassContext& context_;
  std::vector<TensorDataPtr> known_;  // contents of each storage that is known while planning, else null
};

}  // namespace

Result<Graph> pass_fold_constants(const Graph& graph, PassContext& context) {
  return FoldPass(graph, context).run();
}

}  // namespace chiaro
