// The two ways in which the conformance suite runs a variant: one kernel in the variant's own layout, or a graph with
// that layout made by views, through the planner. Internal to runtime/conformance*.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/conformance/variants.h"
#include "runtime/engine.h"

namespace chiaro {

struct VariantRun {
  bool refused = false;  // nothing ran; `why` is the refusal
  bool broken = false;   // it ran and something besides the numbers is wrong; `why` says what
  std::string why;
  std::vector<std::byte> output;  // dense
};

// `values[i]`: dense doubles of input i. Memory is poisoned and guarded; inputs are checked to be unchanged.
VariantRun launch_variant(Device& device, const Kernel& kernel, const Variant& v, const TensorDesc& out,
                          std::span<const std::vector<double>> values);

// The plan that `kernel` makes for the variant in such memory, nothing run. Errors: the kernel's refusal.
Result<KernelPlan> plan_launch(const Device& device, const Kernel& kernel, const Variant& v, const TensorDesc& out);

VariantRun plan_variant(Engine& engine, Device& device, const Variant& v, const TensorDesc& out,
                        std::span<const std::vector<double>> values);

}  // namespace chiaro
