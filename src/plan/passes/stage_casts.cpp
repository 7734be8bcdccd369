#include "plan/passes/stage_casts.h"

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/tensor.h"
#include "ops/cast/op.h"
#include "plan/rewriter.h"

namespace chiaro {
namespace {

bool is_fp8(DType dtype) {
  return dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2;
}

// The bits of each of the 256 codes in f16 or bf16, which hold them exactly.
std::array<uint16_t, 256> wide_codes(DType from, DType to) {
  std::array<uint16_t, 256> table{};
  for (size_t code = 0; code < table.size(); ++code) {
    const auto byte = static_cast<std::byte>(code);
    std::byte wide[2];
    store_element(to, wide, 0, load_element(from, &byte, 0));
    std::memcpy(&table[code], wide, sizeof wide);
  }
  return table;
}

// Owns the wide bytes, and the narrow weight, so that no other takes its address while this is known by it.
struct WideWeight {
  TensorDataPtr narrow;
  std::vector<uint16_t> elements;
};

TensorDataPtr widened(const TensorDataPtr& narrow, const TensorDesc& view, int64_t offset, DType dtype) {
  const auto table = wide_codes(view.dtype, dtype);
  auto wide = std::make_shared<WideWeight>();
  wide->narrow = narrow;
  wide->elements.resize(static_cast<size_t>(view.count()));
  const std::byte* codes = narrow->bytes + offset;
  for_each_element(view, [&](int64_t i, int64_t at) {
    wide->elements[static_cast<size_t>(i)] = table[static_cast<size_t>(codes[at])];
  });
  TensorData data;
  data.name = narrow->name + " as " + std::string(dtype_name(dtype));
  data.desc = dense(dtype, view.shape);
  data.bytes = reinterpret_cast<const std::byte*>(wide->elements.data());
  data.owner = std::move(wide);
  return std::make_shared<const TensorData>(std::move(data));
}

// Plans of several sizes are made of one model: what one of them widened, the others find here while it lives.
TensorDataPtr shared_wide(const TensorDataPtr& narrow, const TensorDesc& view, int64_t offset, DType dtype) {
  static std::mutex mutex;
  static std::map<std::tuple<const TensorData*, int64_t, std::string, DType>, std::weak_ptr<const TensorData>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  auto& entry = known[{narrow.get(), offset, view.text(), dtype}];
  if (TensorDataPtr wide = entry.lock()) return wide;
  TensorDataPtr wide = widened(narrow, view, offset, dtype);
  entry = wide;
  return wide;
}

class StagePass {
 public:
  StagePass(const Graph& graph, PassContext& context) : graph_(graph), context_(context), rewriter_(graph) {}

  Result<Graph> run() {
    const std::vector<bool> read = read_still();
    for (const Node& node : graph_.nodes()) {
      if (node.op->kind == OpKind::view && !read[static_cast<size_t>(node.output.id)]) continue;
      if (stageable(node)) {
        rewriter_.map(node.output, staged(node));
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
  Value staged(const Node& node) {
    const ValueInfo& in = info(node.inputs[0]);
    const DType dtype = info(node.output).desc.dtype;
    const TensorDataPtr data = shared_wide(graph_.storage(in.storage).data, in.desc, in.offset_bytes, dtype);
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
  Rewriter rewriter_;
  std::map<const TensorData*, Value> staged_;
};

}  // namespace

Result<Graph> stage_casts(const Graph& graph, PassContext& context) {
  return StagePass(graph, context).run();
}

}  // namespace chiaro
