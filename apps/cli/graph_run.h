// Graphs in files, for plan and run: parsing, the engine they are planned for, and seeded contents.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "graph/text.h"
#include "plan/plan.h"
#include "runtime/engine.h"

namespace chiaro::cli {

// Values that depend on the seed, the tensor's name and the element alone: from -1 to 1 for floating types, 0 or 1 for
// whole numbers. Errors: unsupported (block types, and descriptions that are not dense).
Result<TensorDataPtr> seeded_tensor(uint64_t seed, const std::string& name, const TensorDesc& desc);

// Host functions are those of graph/host_functions.h; `data` as for parse_graph. Errors: io, bad_file, each with
// `path`.
Result<Graph> read_graph(const std::string& path, const DataLookup& data = {});

// The engine and the plan options that the device flags ask for. Errors: usage.
struct Planner {
  std::shared_ptr<Engine> engine;
  PlanOptions options;
};
Result<Planner> make_planner(const DeviceOptions& device, const std::vector<std::string>& skip);

}  // namespace chiaro::cli
