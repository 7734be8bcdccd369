// place: gives every node a device.
//
// Pins, weights and modules say where a node would be; between such nodes their neighbours do, and elsewhere the order
// of the devices. A node stays there if that device has a kernel for it or for its decomposition; else it goes to the
// first device in order that has, with the refusal as the reason.
#include <algorithm>

#include "plan/passes/placement.h"
#include "plan/rewriter.h"

namespace chiaro {
namespace {

class PlacePass {
 public:
  PlacePass(const Graph& graph, PassContext& context, std::vector<int32_t> wanted)
      : graph_(graph), context_(context), wanted_(std::move(wanted)) {}

  Result<Graph> run() {
    ask_neighbours();
    Rewriter rewriter(graph_);
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      Node node = graph_.nodes()[i];
      if (node.op->kind != OpKind::view) CHIARO_TRY(settle(node, wanted_[i]));
      rewriter.map(node.output, rewriter.emit(node, *node.op, node.attrs, rewriter.mapped_inputs(node)));
    }
    return rewriter.finish();
  }

 private:
  // Nodes that nothing was said about take the device of what they read, then of what reads them, then the first. A
  // module's nodes draw no nodes of another module.
  void ask_neighbours() {
    struct Wish {
      int32_t device = -1;
      const std::string* module = nullptr;
    };
    std::vector<Wish> of_value(graph_.values().size());
    const auto at = [&](Value v) -> Wish& { return of_value[static_cast<size_t>(v.id)]; };
    const auto draw = [&](size_t i, const Wish& wish) {
      const std::string& module = graph_.nodes()[i].module;
      if (wanted_[i] < 0 && wish.device >= 0 && (module.empty() || module == *wish.module)) wanted_[i] = wish.device;
    };
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      for (const Value v : node.inputs) {
        if (v.valid()) draw(i, at(v));
      }
      at(node.output) = {wanted_[i], &node.module};
    }
    for (size_t i = graph_.nodes().size(); i-- > 0;) {
      const Node& node = graph_.nodes()[i];
      draw(i, at(node.output));
      for (const Value v : node.inputs) {
        if (v.valid() && at(v).device < 0) at(v) = {wanted_[i], &node.module};
      }
    }
    std::replace(wanted_.begin(), wanted_.end(), -1, 0);
  }

  Status settle(Node& node, int32_t wanted) {
    const Device& first = *context_.devices[static_cast<size_t>(wanted)];
    node.moved.clear();
    node.device = first.traits().name;
    if (context_.devices.size() == 1) return {};  // legalise says what is missing
    Status refusal = fits(first, graph_, node);
    if (refusal.ok()) return {};
    if (!node.pin.empty()) return std::move(refusal).error().at("pinned to " + node.pin).at(node.label);
    std::string reasons = refusal.error().what + ": " + refusal.error().why;
    for (const Device* device : context_.devices) {
      if (device == &first) continue;
      Status other = fits(*device, graph_, node);
      if (other.ok()) {
        node.device = device->traits().name;
        node.moved = refusal.error().what + ": " + refusal.error().why;
        ++context_.changes;
        return {};
      }
      reasons += "; " + other.error().what + ": " + other.error().why;
    }
    return Error{ErrorCode::unsupported, "no device can run " + std::string(node.op->name), std::move(reasons),
                 "`chiaro ops list` shows what each device takes", node.label};
  }

  const Graph& graph_;
  PassContext& context_;
  std::vector<int32_t> wanted_;
};

}  // namespace

Result<Graph> pass_place(const Graph& graph, PassContext& context) {
  CHIARO_ASSIGN(auto wanted, preferred_devices(graph, context));
  return PlacePass(graph, context, std::move(wanted)).run();
}

}  // namespace chiaro
