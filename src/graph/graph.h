// The graph: values, nodes and storages. It says what is computed, never where.
//
// A Value is (storage, version, view). Ops are functional; an in-place op makes version k+1 of a storage, and a later
// read of version k still means the old contents: the planner serves it by order or by a copy.
// A finished Graph is immutable; planning never changes it. Thread rule: share it freely.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "graph/op.h"

namespace chiaro {

// A handle into its graph. Invalid (-1) stands for an optional input left out.
struct Value {
  int32_t id = -1;
  bool valid() const { return id >= 0; }
  bool operator==(const Value&) const = default;
};
inline constexpr Value kNone{};

enum class StorageKind { input, weight, constant, temp };

struct Storage {
  StorageKind kind = StorageKind::temp;
  int64_t bytes = 0;
  int32_t latest_version = 0;
  std::string name;    // of an input, a weight or a constant
  TensorDataPtr data;  // of a weight or a constant; null in a graph parsed from text
};

struct ValueInfo {
  int32_t storage = -1;
  int32_t version = 0;
  TensorDesc desc;
  int64_t offset_bytes = 0;  // of the first element, from the start of the storage
  int32_t producer = -1;     // node, or -1 for inputs, weights and constants
};

struct Node {
  const OpDef* op = nullptr;
  AttrMap attrs;
  std::vector<Value> inputs;
  Value output;
  std::string label;     // where in the model: "down.1.res.0.norm1"
  std::string module;    // "te", "diffusion", "vae" or empty
  std::string pin;       // a device that this node must run on, or empty
  std::string device;    // where the planner placed it; empty before that
  std::string moved;     // why not where its module, weights or neighbours would have it; empty where it is there
  bool on_copy = false;  // in place, but on a copy of its target, which is then copied back (the planner's `own` pass)
};

struct GraphOutput {
  std::string name;
  Value value;
};

class Graph {
 public:
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ValueInfo>& values() const { return values_; }
  const std::vector<Storage>& storages() const { return storages_; }
  const std::vector<Value>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  const ValueInfo& info(Value v) const { return values_[static_cast<size_t>(v.id)]; }
  const Storage& storage(int32_t id) const { return storages_[static_cast<size_t>(id)]; }
  const Storage& storage_of(Value v) const { return storage(info(v).storage); }

 private:
  friend class GraphBuilder;
  std::vector<Node> nodes_;
  std::vector<ValueInfo> values_;
  std::vector<Storage> storages_;
  std::vector<Value> inputs_;
  std::vector<GraphOutput> outputs_;
};

}  // namespace chiaro
