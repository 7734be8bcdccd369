// GraphBuilder: how models write graphs. Errors stick: after the first one every op returns an invalid Value, and
// finish() reports that first error, so that a forward pass reads like its paper.
//
// Thread rule: one thread. Placing nothing, it only records.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/graph.h"

namespace chiaro {

class GraphBuilder {
 public:
  Value input(std::string name, const TensorDesc& desc);
  // The same value where a weight of the same bytes, description and name is there already: a network that is called
  // twice in one graph has its weights once.
  Value weight(TensorDataPtr data);
  Value constant(TensorDataPtr data);
  // A weight or constant known by shape only (graphs parsed from text, plans without files).
  Value unbound(StorageKind kind, std::string name, const TensorDesc& desc);

  // Adds a node of any kind; checks attributes, shapes, and what may be written.
  Value add(const OpDef& op, AttrMap attrs, std::vector<Value> inputs);
  // The view of `x` at the newest version of its storage (after in-place writes through other views).
  Value latest(Value x);
  void output(std::string name, Value v);

  const TensorDesc& desc(Value v) const;
  const Shape& shape(Value v) const { return desc(v).shape; }
  DType dtype(Value v) const { return desc(v).dtype; }

  // Labels: nodes made while a Scope lives are named "outer.inner". Modules group nodes for placement.
  class Scope {
   public:
    Scope(GraphBuilder& g, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphBuilder& g_;
    size_t length_;
  };
  void set_module(std::string module) { module_ = std::move(module); }
  void pin_next(std::string device) { pin_ = std::move(device); }
  // For the planner's passes: where the nodes made from now on run, and why not elsewhere.
  void place(std::string device, std::string moved, bool on_copy = false) {
    device_ = std::move(device);
    moved_ = std::move(moved);
    on_copy_ = on_copy;
  }

  // Records an error of the caller's own (a config that does not fit); the first one wins. Returns kNone.
  Value fail(Error error);
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  // The graph, or the first error. The builder is spent afterwards.
  Result<Graph> finish();

 private:
  Value new_value(int32_t storage, int32_t version, const TensorDesc& desc, int64_t offset, int32_t producer);
  Value source(StorageKind kind, std::string name, const TensorDesc& desc, TensorDataPtr data);
  Value add_checked(const OpDef& op, Node node, InputDescs descs);
  Status check_arity(const OpDef& op, const std::vector<Value>& inputs) const;
  Status check_write(const OpDef& op, Value target) const;

  Graph graph_;
  // First byte (or, of weights without data, the tensor), description, name.
  std::map<std::tuple<const void*, std::string, std::string>, Value> weights_;
  Status status_;
  std::string scope_, module_, pin_, device_, moved_;
  bool on_copy_ = false;
};

}  // namespace chiaro
