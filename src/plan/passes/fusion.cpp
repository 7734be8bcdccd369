#include "plan/passes/fusion.h"

#include <algorithm>

#include "plan/passes/placement.h"
#include "plan/rewriter.h"

namespace chiaro {

Result<Fusion> Fusion::start(const Graph& graph, PassContext& context) {
  CHIARO_ASSIGN(auto preferred, preferred_devices(graph, context));
  return Fusion(graph, context, std::move(preferred));
}

Fusion::Fusion(const Graph& graph, PassContext& context, std::vector<int32_t> preferred)
    : graph_(graph),
      context_(context),
      preferred_(std::move(preferred)),
      uses_(count_uses(graph)),
      reader_(graph.values().size(), -1),
      writes_(graph.storages().size()),
      taken_(graph.nodes().size(), false) {
  size_t computes = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    computes_before_.push_back(computes);
    if (node.op->kind != OpKind::view) ++computes;
    for (const Value v : node.inputs) {
      if (v.valid()) reader_[static_cast<size_t>(v.id)] = static_cast<int64_t>(i);
    }
    if (node.op->kind == OpKind::inplace) writes_[static_cast<size_t>(graph.info(node.output).storage)].push_back(i);
  }
}

int64_t Fusion::follower(const FusedChain& chain) const {
  const auto v = static_cast<size_t>(node(chain.links.back()).output.id);
  if (uses_[v] != 1 || reader_[v] < 0) return -1;  // several readers, or a graph output
  const auto next = static_cast<size_t>(reader_[v]);
  const Node& head = node(chain.links.front());
  const int32_t wanted = preferred_[chain.links.front()];
  // A node that nothing places goes where its neighbours are.
  const bool together = node(next).pin == head.pin && node(next).module == head.module &&
                        (preferred_[next] == wanted || preferred_[next] < 0);
  return taken_[next] || !together ? -1 : reader_[v];
}

bool Fusion::lone(Value v) const {
  const ValueInfo& info = graph_.info(v);
  return info.version == 0 && info.producer >= 0 && uses_[static_cast<size_t>(v.id)] == 1 &&
         node(static_cast<size_t>(info.producer)).op->kind == OpKind::compute;
}

bool Fusion::movable(const FusedChain& chain, size_t at) const {
  const size_t from = chain.links.back();
  const int64_t elements = desc(node(from).output).count();
  int large = 0;
  for (const Value v : chain.inputs) {
    if (!v.valid()) continue;
    const std::vector<size_t>& writes = writes_[static_cast<size_t>(graph_.info(v).storage)];
    const auto next = std::upper_bound(writes.begin(), writes.end(), from);
    if (next != writes.end() && *next < at) return false;
    if (graph_.storage_of(v).kind == StorageKind::temp && desc(v).count() >= elements) ++large;
  }
  return large <= 1 || computes_before_[at] - computes_before_[from] == 1;
}

const Device* Fusion::device_of(size_t head) const {
  const auto runs = [&](const Device* device) { return choose_kernel(*device, graph_, node(head)).ok(); };
  const int32_t wanted = preferred_[head];
  const Device* device = context_.devices[static_cast<size_t>(std::max(wanted, 0))];
  if (runs(device)) return device;
  if (!node(head).pin.empty()) return nullptr;
  const auto other = std::find_if(context_.devices.begin(), context_.devices.end(), runs);
  return other == context_.devices.end() ? nullptr : *other;
}

bool Fusion::well_formed(const FusedChain& chain, Value out) const {
  std::vector<const TensorDesc*> descs;
  for (const Value v : chain.inputs) descs.push_back(v.valid() ? &desc(v) : nullptr);
  const auto made = chain.op->infer(chain.attrs, descs);
  return made.ok() && *made == desc(out);
}

bool Fusion::has_kernel(const FusedChain& chain, Value out) const {
  std::vector<Operand> operands;
  for (const Value v : chain.inputs) operands.push_back(operand_of(graph_, v));
  return has_kernel(chain.links.front(), *chain.op, chain.attrs, operands, operand_of(graph_, out));
}

bool Fusion::has_kernel(size_t head, const OpDef& op, const AttrMap& attrs, std::span<const Operand> inputs,
                        const Operand& out) const {
  const Device* device = device_of(head);
  return device != nullptr && choose_kernel(*device, op, attrs, inputs, out).ok();
}

void Fusion::take(FusedChain chain) {
  for (const size_t link : chain.links) taken_[link] = true;
  context_.changes += static_cast<int>(chain.links.size()) - 1;
  chains_.push_back(std::move(chain));
}

Result<Graph> Fusion::finish() {
  std::vector<const FusedChain*> at(graph_.nodes().size(), nullptr);
  for (const FusedChain& chain : chains_) at[chain.links.back()] = &chain;
  Rewriter rewriter(graph_);
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    if (at[i] == nullptr) {
      if (!taken_[i]) rewriter.copy(node(i));
      continue;
    }
    std::vector<Value> inputs;
    for (const Value v : at[i]->inputs) {
      inputs.push_back(rewriter.mapped(v));
      if (v.valid() && !inputs.back().valid()) {
        return Error{ErrorCode::internal, "fuse lost an operand of a chain", "", "", node(i).label};
      }
    }
    const Node& head = node(at[i]->links.front());
    rewriter.map(node(i).output, rewriter.emit(head, *at[i]->op, at[i]->attrs, std::move(inputs)));
  }
  return rewriter.finish();
}

AttrMap with_activation(AttrMap attrs, std::string_view activation) {
  for (auto& [key, value] : attrs) {
    if (key == "act") value = std::string(activation);
  }
  return attrs;
}

int find_input(const OpDef& op, std::string_view name) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace chiaro
