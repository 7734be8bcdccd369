// own: a result lies in another tensor's memory only where the device that writes it can address that memory.
//
// For an in-place node on a device that does not address the memory of its target: it goes to the owner if the owner
// has a kernel, else to another device that addresses that memory, else (and if it is pinned) it stays and runs on a
// copy, which is copied back. Never an error, never a wrong write. Nothing else moves; a graph that one device can run
// comes out as it went in.
#include "plan/passes/placement.h"
#include "plan/rewriter.h"

namespace chiaro {
namespace {

class OwnPass {
 public:
  OwnPass(const Graph& graph, PassContext& context)
      : graph_(graph), context_(context), owners_(storage_owners(graph, context)) {}

  Result<Graph> run() {
    Rewriter rewriter(graph_);
    for (const Node& original : graph_.nodes()) {
      Node node = original;
      if (node.op->kind == OpKind::inplace) settle(node);
      rewriter.map(node.output, rewriter.emit(node, *node.op, node.attrs, rewriter.mapped_inputs(node)));
    }
    return rewriter.finish();
  }

 private:
  const Device& device(int32_t index) const { return *context_.devices[static_cast<size_t>(index)]; }

  void settle(Node& node) {
    const int32_t owner = owners_[static_cast<size_t>(graph_.info(node.output).storage)];
    const int32_t here = context_.find(node.device);
    if (owner < 0 || here < 0 || device(here).addresses(device(owner))) return;
    ++context_.changes;
    const std::string& home = device(owner).traits().name;
    if (node.pin.empty()) {
      if (fits(device(owner), graph_, node).ok()) {
        node.moved = "its result lies in memory of " + home + ", which " + node.device + " does not address";
        node.device = home;
        return;
      }
      for (const Device* other : context_.devices) {
        if (!other->addresses(device(owner)) || !fits(*other, graph_, node).ok()) continue;
        node.moved = "its result lies in memory of " + home + ", which " + node.device + " does not address, and " +
                     home + " has no kernel";
        node.device = other->traits().name;
        return;
      }
    }
    node.on_copy = true;
    if (!node.moved.empty()) node.moved += "; ";
    node.moved += "runs on a copy: its result lies in memory of " + home +
                  (node.pin.empty() ? ", which has no kernel for it" : ", and it is pinned");
  }

  const Graph& graph_;
  PassContext& context_;
  std::vector<int32_t> owners_;
};

}  // namespace

Result<Graph> pass_own(const Graph& graph, PassContext& context) {
  return OwnPass(graph, context).run();
}

}  // namespace chiaro
