// Casts of FP8 weights that legalise inserts, made once. Internal to legalise.
#pragma once

#include "plan/passes/passes.h"

namespace chiaro {

// Replaces each cast of an FP8 weight, or of a view of one, to a wider float by a weight of that type: the cast's
// result is computed here, and brought to the device as any weight is, not at every run. Weights without data (plans by
// shape) keep their casts. What reads such a weight is labelled "bf16_from_fp8", and its bytes count among the plan's
// weights.
//
// The wide form lives as long as a plan that reads it; plans of one weight that are made with the same
// PlanOptions::wide_weights share it. Errors: out_of_memory.
Result<Graph> stage_casts(const Graph& graph, PassContext& context);

}  // namespace chiaro
