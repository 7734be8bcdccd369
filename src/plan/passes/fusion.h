// What the rewrites of the fuse pass share: who reads a value, where a chain would run, and how a chain takes the place
// of its links.
#pragma once

#include <vector>

#include "plan/passes/passes.h"

namespace chiaro {

// Nodes that become one: `op` on values of the old graph, at the place of the last link, labelled as the first one.
struct FusedChain {
  const OpDef* op = nullptr;
  AttrMap attrs;
  std::vector<Value> inputs;
  std::vector<size_t> links;  // node indices in program order, the head first
};

class Fusion {
 public:
  // Errors: those of preferred_devices().
  static Result<Fusion> start(const Graph& graph, PassContext& context);

  const Graph& graph() const { return graph_; }
  const Node& node(size_t i) const { return graph_.nodes()[i]; }
  const TensorDesc& desc(Value v) const { return graph_.info(v).desc; }
  bool taken(size_t node) const { return taken_[node]; }

  // The node that may join a chain whose last link is `last`: the only reader of its result, not taken yet, of the
  // head's pin, module and device. -1 where there is none.
  int64_t follower(const FusedChain& chain) const;
  // Whether `v` can be computed anew elsewhere than in its storage: a whole result that only one node reads.
  bool lone(Value v) const;
  // Whether the chain can be computed at node `at` instead of where its last link stands: nobody overwrites its
  // operands in between, and they need no more memory until then than its result would.
  bool movable(const FusedChain& chain, size_t at) const;
  // Whether the op takes the chain's inputs, and makes of them what `out` is.
  bool well_formed(const FusedChain& chain, Value out) const;
  // Whether the device that would run the head has a kernel for the chain with a result like `out`.
  bool has_kernel(const FusedChain& chain, Value out) const;
  bool has_kernel(size_t head, const OpDef& op, const AttrMap& attrs, std::span<const Operand> inputs,
                  const Operand& out) const;

  void take(FusedChain chain);
  // The graph with every taken chain as one node.
  Result<Graph> finish();

 private:
  Fusion(const Graph& graph, PassContext& context, std::vector<int32_t> preferred);
  const Device* device_of(size_t head) const;

  const Graph& graph_;
  PassContext& context_;
  std::vector<int32_t> preferred_;  // device of each node, or -1
  std::vector<int32_t> uses_;
  std::vector<int64_t> reader_;              // the last node that reads each value
  std::vector<std::vector<size_t>> writes_;  // in-place nodes on each storage, in program order
  std::vector<size_t> computes_before_;      // compute and in-place nodes before each node
  std::vector<bool> taken_;
  std::vector<FusedChain> chains_;
};

// Which input of the op has that name; -1: none.
int find_input(const OpDef& op, std::string_view name);
// The attributes with that activation as their "act".
AttrMap with_activation(AttrMap attrs, std::string_view activation);

// fuse.norm, fuse.conv, fuse.matmul: affine, bias, activation and residual into the attributes and inputs of one op;
// fuse.modulate, fuse.gate, fuse.swiglu: what it is multiplied by.
Result<Graph> fuse_followers(const Graph& graph, PassContext& context);
// fuse.geglu: a product and the gated unit behind it into a product with each half of the weight.
Result<Graph> fuse_gated(const Graph& graph, PassContext& context);
// fuse.rope: the norm of queries and keys into their rotation.
Result<Graph> fuse_prologues(const Graph& graph, PassContext& context);
// fuse.elementwise: two and more elementwise nodes into one elementwise_chain.
Result<Graph> fuse_elementwise(const Graph& graph, PassContext& context);

}  // namespace chiaro
