// Random small graphs: views, in-place chains, writes into views, reads of old versions, shared operands, weights, ops
// with scratch memory.
#pragma once

#include <random>

#include "graph/builder.h"

namespace chiaro::testing {

struct RandomGraph {
  Graph graph;
  std::vector<std::pair<std::string, std::vector<float>>> inputs;
};

// The same seed gives the same graph. `nodes` counts attempts; what the builder refuses is left out.
RandomGraph random_graph(uint64_t seed, int nodes);

}  // namespace chiaro::testing
