// Graphs as text: for tests, tools and bug reports. print_graph and parse_graph are inverse to each other up to the
// contents of weights and constants, which the text does not hold.
//
//   %0 = input "x" : f32[1,8,8,32]
//   %1 = weight "norm.weight" : f16[32]
//   %2 = group_norm(%0, _, _) {groups=8} : f32[1,8,8,32]  # down.0.norm
//   %3 = mul_(%2, %1) : f32[1,8,8,32]
//   output "y" %3
//
// Left out: attributes that have their default value; "_" is an optional input left out. Behind a type, strides follow
// where the value is not dense: f32[4,8]{1,4}. `module="vae"` and `pin="cpu"` may stand between type and label.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "graph/builder.h"

namespace chiaro {

std::string print_graph(const Graph& graph);

// Finds an op by its name; ops/catalogue.h has find_op.
using OpLookup = std::function<const OpDef*(std::string_view)>;

// Types behind ":" are optional for nodes; where they are given they must be what the op infers.
// Errors: bad_file naming line and what was expected; what the builder refuses, with the line.
Result<Graph> parse_graph(std::string_view text, const OpLookup& find_op);

}  // namespace chiaro
