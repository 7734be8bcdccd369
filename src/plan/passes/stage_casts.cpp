#include "plan/passes/stage_casts.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"
#include "ops/cast/op.h"
#include "plan/rewriter.h"
#include "plan/wide_weights.h"

namespace chiaro {
namespace {

bool is_fp8(DType dtype) {
  return dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2;
}

class StagePass {
 public:
  StagePass(const Graph& graph, PassContext& context)
      : graph_(graph), context_(context), wide_(context.options.wide_weights), rewriter_(graph) {
    if (!wide_) wide_ = std::make_shared<WideWeights>(std::make_shared<SystemAllocator>());
  }

  Result<Graph> run() {
    const std::vector<bool> read = read_still();
    for (const Node& node : graph_.nodes()) {
      if (node.op->kind == OpKind::view && !read[static_cast<size_t>(node.output.id)]) continue;
      if (stageable(node)) {
        CHIARO_ASSIGN(const Value wide, staged(node));
        rewriter_.map(node.output, wide);
        ++context_.changes;
      } else {
        copy(node);
      }
    }
    return rewriter_.finish();
  }

 private:
  const ValueInfo& info(Value v) const { return graph_.info(v); }

  // By value: whether anything but a staged cast reads it, through views or not.
  std::vector<bool> read_still() const {
    std::vector<bool> read(graph_.values().size(), false);
    for (const GraphOutput& output : graph_.outputs()) read[static_cast<size_t>(output.value.id)] = true;
    for (size_t i = graph_.nodes().size(); i-- > 0;) {
      const Node& node = graph_.nodes()[i];
      if (stageable(node) || (node.op->kind == OpKind::view && !read[static_cast<size_t>(node.output.id)])) continue;
      for (const Value v : node.inputs) {
        if (v.valid()) read[static_cast<size_t>(v.id)] = true;
      }
    }
    return read;
  }

  bool stageable(const Node& node) const {
    if (node.op != &op_def_cast() || !is_fp8(info(node.inputs[0]).desc.dtype)) return false;
    const DType to = info(node.output).desc.dtype;
    const Storage& storage = graph_.storage_of(node.inputs[0]);
    const bool written = storage.latest_version > 0 || graph_.storage_of(node.output).latest_version > 0;
    return storage.data != nullptr && storage.data->bytes != nullptr && !written &&
           (to == DType::f16 || to == DType::bf16);
  }

  // One weight for all casts of a value to a type.
  Result<Value> staged(const Node& node) {
    const ValueInfo& in = info(node.inputs[0]);
    const DType dtype = info(node.output).desc.dtype;
    CHIARO_ASSIGN(const TensorDataPtr data,
                  wide_->get(graph_.storage(in.storage).data, in.desc, in.offset_bytes, dtype));
    const auto found = staged_.find(data.get());
    if (found != staged_.end()) return found->second;
    return staged_[data.get()] = rewriter_.builder().weight(data);
  }

  void copy(const Node& node) {
    std::string name;
    for (const Value v : node.inputs) {
      const int32_t producer = v.valid() ? info(v).producer : -1;
      if (producer >= 0 && stageable(graph_.nodes()[static_cast<size_t>(producer)])) {
        name = std::string(dtype_name(info(v).desc.dtype)) + "_from_fp8";
      }
    }
    if (name.empty()) return rewriter_.copy(node);
    Node labelled = node;
    labelled.label += (labelled.label.empty() ? "" : ".") + name;
    rewriter_.map(node.output, rewriter_.emit(labelled, *node.op, node.attrs, rewriter_.mapped_inputs(node)));
  }

  const Graph& graph_;
  PassContext& context_;
  std::shared_ptr<WideWeights> wide_;
  Rewriter rewriter_;
  std::map<const TensorData*, Value> staged_;
};

}  // namespace

Result<Graph> stage_casts(const Graph& graph, PassContext& context) {
  return StagePass(graph, context).run();
}

}  // namespace chiaro
