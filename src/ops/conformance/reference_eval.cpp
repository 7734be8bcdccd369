#include "ops/conformance/reference_eval.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/block_formats.h"
#include "core/tensor.h"
#include "graph/builder.h"

namespace chiaro {
namespace {

using Doubles = std::vector<double>;

// Storages as doubles, one per element of the storage's type; (storage, version) -> contents.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const ReferenceOptions& options) : graph_(graph), options_(options) {}

  Status load(std::span<const ReferenceInput> inputs) {
    for (const Value v : graph_.inputs()) {
      const Storage& storage = graph_.storage_of(v);
      const ReferenceInput* found = nullptr;
      for (const ReferenceInput& input : inputs) {
        if (input.name == storage.name) found = &input;
      }
      if (found == nullptr || static_cast<int64_t>(found->values.size()) != graph_.info(v).desc.count()) {
        return Error{ErrorCode::usage, "the reference needs input \"" + storage.name + "\"",
                     graph_.info(v).desc.text() + " has " + std::to_string(graph_.info(v).desc.count()) + " elements",
                     "", ""};
      }
      scatter(v, found->values);
    }
    return {};
  }

  Status run() {
    for (const Node& node : graph_.nodes()) {
      if (node.op->kind == OpKind::view) continue;
      if (auto status = run_node(node); !status.ok()) return std::move(status).error().at(node.label);
    }
    return {};
  }

  Result<RefTensor> gather(Value v) {
    const ValueInfo& info = graph_.info(v);
    CHIARO_ASSIGN(const auto contents, storage(info.storage, info.version));
    RefTensor out{info.desc.shape, Doubles(static_cast<size_t>(info.desc.count())), true};
    const int64_t start = info.offset_bytes / unit_bytes(info.desc.dtype) * traits(info.desc.dtype).block_elements;
    for_each_element(info.desc, [&](int64_t i, int64_t offset) {
      out.data[static_cast<size_t>(i)] = (*contents)[static_cast<size_t>(start + offset)];
    });
    return out;
  }

 private:
  using Contents = std::shared_ptr<Doubles>;

  Status run_node(const Node& node) {
    std::vector<RefTensor> inputs;
    std::vector<const TensorDesc*> descs;
    for (const Value v : node.inputs) {
      descs.push_back(v.valid() ? &graph_.info(v).desc : nullptr);
      if (!v.valid()) {
        inputs.push_back({{}, {}, false});
        continue;
      }
      CHIARO_ASSIGN(auto tensor, gather(v));
      inputs.push_back(std::move(tensor));
    }
    const ValueInfo& info = graph_.info(node.output);
    CHIARO_ASSIGN(auto out, reference_of(*node.op, node.attrs, descs, inputs, info.desc));
    if (options_.round) {
      for (double& value : out.data) value = rounded_to(info.desc.dtype, value);
    }
    if (node.op->kind == OpKind::inplace) {  // the other elements of the storage keep what they had
      const ValueInfo& target = graph_.info(node.inputs[0]);
      CHIARO_ASSIGN(const auto before, storage(target.storage, target.version));
      contents_[{info.storage, info.version}] = std::make_shared<Doubles>(*before);
    }
    scatter(node.output, out.data);
    return {};
  }

  void scatter(Value v, const Doubles& values) {
    const ValueInfo& info = graph_.info(v);
    Contents& contents = contents_[{info.storage, info.version}];
    const int64_t start = info.offset_bytes / unit_bytes(info.desc.dtype);
    if (!contents) {
      contents = std::make_shared<Doubles>(
          static_cast<size_t>(graph_.storage(info.storage).bytes / unit_bytes(info.desc.dtype)));
    }
    for_each_element(info.desc, [&](int64_t i, int64_t offset) {
      (*contents)[static_cast<size_t>(start + offset)] = values[static_cast<size_t>(i)];
    });
  }

  // Weights and constants are decoded when first read.
  Result<Contents> storage(int32_t id, int32_t version) {
    if (const auto found = contents_.find({id, version}); found != contents_.end()) return found->second;
    const TensorDataPtr& data = graph_.storage(id).data;
    if (data == nullptr) {
      return Error{ErrorCode::unsupported, "the reference cannot read \"" + graph_.storage(id).name + "\"",
                   "it has no data", "", ""};
    }
    auto contents = std::make_shared<Doubles>(static_cast<size_t>(data->desc.count()));
    if (is_block(data->desc.dtype)) {
      std::vector<float> values(contents->size());
      decode_blocks(data->desc.dtype, data->bytes, 0, data->desc.count(), values.data());
      contents->assign(values.begin(), values.end());
    }
    for (size_t i = 0; i < contents->size() && !is_block(data->desc.dtype); ++i) {
      (*contents)[i] = load_element(data->desc.dtype, data->bytes, static_cast<int64_t>(i));
    }
    contents_[{id, version}] = contents;
    return contents;
  }

  const Graph& graph_;
  const ReferenceOptions& options_;
  std::map<std::pair<int32_t, int32_t>, Contents> contents_;
};

}  // namespace

double rounded_to(DType dtype, double value) {
  std::byte bytes[8] = {};
  store_element(dtype, bytes, 0, value);
  return load_element(dtype, bytes, 0);
}

Result<RefTensor> decomposition_of(const OpDef& op, const AttrMap& attrs, InputDescs descs,
                                   std::span<const RefTensor> inputs) {
  GraphBuilder g;
  std::vector<Value> values;
  std::vector<ReferenceInput> bound;
  std::vector<std::string> names(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    names[i] = "in" + std::to_string(i);
    if (descs[i] == nullptr) {
      values.push_back(kNone);
      continue;
    }
    values.push_back(g.input(names[i], dense(descs[i]->dtype, descs[i]->shape)));
    bound.push_back({names[i], inputs[i].data});
  }
  g.output("out", op.decompose(g, attrs, values));
  CHIARO_ASSIGN(const Graph graph, g.finish());
  CHIARO_ASSIGN(auto outputs, evaluate_reference(graph, bound));
  return std::move(outputs[0]);
}

Result<RefTensor> reference_of(const OpDef& op, const AttrMap& attrs, InputDescs descs,
                               std::span<const RefTensor> inputs, const TensorDesc& out) {
  if (op.reference == nullptr && op.decompose == nullptr) {
    return Error{ErrorCode::internal, std::string(op.name) + " has neither a reference nor a decomposition", "", "",
                 ""};
  }
  if (op.reference == nullptr) return decomposition_of(op, attrs, descs, inputs);
  RefTensor result{out.shape, Doubles(static_cast<size_t>(out.count())), true};
  CHIARO_TRY(op.reference(attrs, inputs, result));
  return result;
}

Result<std::vector<RefTensor>> evaluate_reference(const Graph& graph, std::span<const ReferenceInput> inputs,
                                                  const ReferenceOptions& options) {
  Evaluation evaluation(graph, options);
  CHIARO_TRY(evaluation.load(inputs));
  CHIARO_TRY(evaluation.run());
  std::vector<RefTensor> outputs;
  for (const GraphOutput& output : graph.outputs()) {
    CHIARO_ASSIGN(auto tensor, evaluation.gather(output.value));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

}  // namespace chiaro
