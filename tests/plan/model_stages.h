// Graphs of the stages of real models: of the small model that ships, with its weights, and of SD 1.5 by shape only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/assembly.h"
#include "plan/plan.h"
#include "random_case_run.h"

namespace chiaro::testing {

struct Stage {
  std::string name;  // "encode", "step", "decode"
  Graph graph;
};

// The model in models/tiny; nullptr (and a failure of the test) where it does not load.
const Assembly* shipped_model();
// Its stages at a latent of `side` x `side`, guided, with a context of 77 tokens.
std::vector<Stage> shipped_stages(int64_t side);
// A step's UNet (both sides of guidance) and the decoder of SD 1.5, at a latent of `side` x `side`: shapes alone.
std::vector<Stage> sd15_stages(int64_t side);

// Inputs that a stage makes finite pictures of.
PortBytes stage_inputs(const ExecutionPlan& plan);

}  // namespace chiaro::testing
