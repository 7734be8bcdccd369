// Legaliser: emits an op so that every node it becomes has a kernel on a device. Shared by legalise and by place, which
// asks what would come of it.
#pragma once

#include <optional>

#include "graph/builder.h"
#include "plan/passes/passes.h"

namespace chiaro {

class Legaliser {
 public:
  Legaliser(const Device& device, GraphBuilder& builder, int& changes)
      : device_(device), builder_(builder), changes_(changes) {}

  // Emits `op` so that every node it becomes has a kernel; returns the value, or kNone after builder.fail. In order: as
  // it is; with contiguous copies of its strided inputs; with its FP8 inputs cast to a wider float; an in-place node
  // whose target's strides no kernel takes is computed apart and written back; decomposed into simpler ops.
  Value emit(const OpDef& op, const AttrMap& attrs, std::vector<Value> inputs, int depth = 0);

 private:
  Status supported(const OpDef& op, const AttrMap& attrs, const std::vector<Value>& inputs) const;
  Status check(const OpDef& op, const AttrMap& attrs, const std::vector<Operand>& operands) const;
  Operand operand(Value v) const;
  std::optional<std::vector<Value>> with_copies(const OpDef& op, const AttrMap& attrs, std::vector<Value> inputs);
  std::optional<std::vector<Value>> with_casts(const OpDef& op, const AttrMap& attrs, std::vector<Value> inputs);
  Value write_back(const OpDef& op, const AttrMap& attrs, std::vector<Value> inputs, int depth);
  Value decompose(const OpDef& op, const AttrMap& attrs, const std::vector<Value>& inputs, int depth);

  const Device& device_;
  GraphBuilder& builder_;
  int& changes_;
};

}  // namespace chiaro
