// The catalogue as documentation, derived from the declarations and from asking every kernel's plan() over the
// conformance cases: nothing in it is written by hand.
#pragma once

#include <string>

#include "ops/kernel.h"

namespace chiaro {

// What one kernel takes, found by offering it every conformance variant of its op.
struct KernelTakes {
  std::string kernel;
  std::vector<std::string> inputs;   // "x f32 f16 bf16"
  std::vector<std::string> layouts;  // refused ones among those that run dense: "stepped"; empty: any strides
  std::string text() const;          // "x f32 f16 bf16; weight f32 f16 bf16 f8_e4m3; any strides"
};
std::vector<KernelTakes> kernels_take(const OpDef& op, const KernelTable& table, const DeviceTraits& traits);

// What `chiaro ops show OP` prints.
std::string op_card(const OpDef& op);
// The page docs/generated/ops.md. The same text on every machine.
std::string ops_markdown();

}  // namespace chiaro
