// Graphs as text: for tests, tools and bug reports. print_graph and parse_graph are inverse to each other up to the
// contents of weights and constants, which the text does not hold.
//
//   %0 = input "x" : f32[1,8,8,32]
//   %1 = weight "norm.weight" : f16[32]
//   %2 = group_norm(%0) {groups=8} : f32[1,8,8,32]  # down.0.norm
//   %3 = mul_(%2, %1) : f32[1,8,8,32]
//   output "y" %3
//
// Left out: attributes that have their default value, and optional inputs behind the last that is given; "_" is one
// that is left out before it. Behind a type, strides follow where the value is not dense: f32[4,8]{1,4}. `module="vae"`
// and `pin="cpu"` may stand between type and label. A host function is written as its name: custom(%0) {fn="twice"}.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "graph/builder.h"
#include "graph/host_function.h"

namespace chiaro {

std::string print_graph(const Graph& graph);

// Finds an op by its name; ops/catalogue.h has find_op.
using OpLookup = std::function<const OpDef*(std::string_view)>;

// Finds a host function by its name; graph/host_functions.h has find_host_function.
using HostFunctionLookup = std::function<Result<std::shared_ptr<const HostFunction>>(std::string_view)>;
// The contents of a weight or constant, with exactly this description; null leaves it known by shape only.
using DataLookup = std::function<Result<TensorDataPtr>(StorageKind, const std::string& name, const TensorDesc&)>;

// What names in a text stand for. An empty function finds nothing.
struct GraphNames {
  OpLookup op = {};
  HostFunctionLookup function = {};
  DataLookup data = {};
};

// Types behind ":" are optional for nodes; where they are given they must be what the op infers.
// Errors: bad_file naming line and what was expected; what the builder and the lookups refuse, with the line.
Result<Graph> parse_graph(std::string_view text, const GraphNames& names);
// Ops alone: a text with host functions is refused.
Result<Graph> parse_graph(std::string_view text, const OpLookup& find_op);

}  // namespace chiaro
