// A random case for the planner of several devices: a graph, the devices with their masks, and the options; as text, so
// that a failing one can be kept and run again. Values of inputs and weights follow from their names alone.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/plan.h"
#include "runtime/engine.h"

namespace chiaro::testing {

struct RandomCase {
  Graph graph;
  std::vector<IsolatedSpec> devices;  // in order of preference; one of them may be named "cpu" (and says only that)
  std::vector<std::string> disabled;  // "OP@cpu"
  PlanOptions options;
  bool serial = false;    // segments on one thread, the memory of other devices inaccessible
  bool threaded = false;  // a thread for each queue
};

// The same seed gives the same case.
RandomCase random_case(uint64_t seed);

// The graph alone: views, chains of in-place ops, writes into views, shared and broadcast weights, constants, host
// functions, old versions, slices of one projection, several modules. Of f32, or of f16 and bf16 among it.
Graph random_device_graph(uint64_t seed);

// Graph text with the devices and options as comments before it. Inverse to each other.
std::string case_text(const RandomCase& c);
Result<RandomCase> parse_case(std::string_view text);

std::string spec_text(const IsolatedSpec& spec);  // as EngineOptions::devices takes it
EngineOptions engine_options(const RandomCase& c);

// Even in [-1, 1), by name and index.
std::vector<float> named_values(std::string_view name, int64_t count);
TensorDataPtr named_tensor(const std::string& name, DType dtype, const Shape& shape);

}  // namespace chiaro::testing
