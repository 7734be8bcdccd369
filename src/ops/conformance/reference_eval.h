// Evaluates any graph node by node in double precision, with the ops' references: the oracle for plans.
//
// A node whose op has no reference is evaluated through its decomposition. Views are strides over dense storages of
// doubles; every version of a storage is kept apart, so in-place ops and reads of old versions mean what graph.h says.
#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace chiaro {

struct ReferenceInput {
  std::string_view name;
  std::vector<double> values;  // dense, in the order of the input's shape
};

struct ReferenceOptions {
  bool round = false;  // round every computed tensor to its dtype, as a device that stores it does
};

// The graph's outputs, in its order. Errors: usage (an input missing or of a wrong size), unsupported (weights without
// data), and what references report.
Result<std::vector<RefTensor>> evaluate_reference(const Graph& graph, std::span<const ReferenceInput> inputs,
                                                  const ReferenceOptions& options = {});

// One op on dense doubles: its reference, or its decomposition evaluated. `out` is the description infer() gave;
// `descs` are those of the inputs (nullptr: left out).
Result<RefTensor> reference_of(const OpDef& op, const AttrMap& attrs, InputDescs descs,
                               std::span<const RefTensor> inputs, const TensorDesc& out);

// The op's decomposition evaluated, for checking it against the reference. Requires op.decompose.
Result<RefTensor> decomposition_of(const OpDef& op, const AttrMap& attrs, InputDescs descs,
                                   std::span<const RefTensor> inputs);

// The value after being stored as `dtype` and read back (plain types).
double rounded_to(DType dtype, double value);

}  // namespace chiaro
