// How near each way of choosing offsets comes to the lower bound, on the stages of real models (docs/planner.md has the
// table that this prints).
#include <gtest/gtest.h>

#include <cstdio>

#include "model_stages.h"

namespace chiaro::testing {
namespace {

struct Fit {
  const char* name;
  ArenaFit fit;
};
constexpr Fit kFits[] = {
    {"greedy by size", ArenaFit::greedy_by_size}, {"first fit", ArenaFit::first_fit}, {"best fit", ArenaFit::best_fit}};

// Percent of the value bytes above the lower bound, by fit; the plan's own choice is the first.
std::vector<double> distances(const std::string& model, const Stage& stage, Engine& engine) {
  std::vector<double> all;
  std::string line;
  for (const Fit& fit : kFits) {
    PlanOptions options;
    options.arena = fit.fit;
    const auto plan = make_plan(stage.graph, engine.devices().first(1), options);
    EXPECT_TRUE(plan.ok()) << plan.error().format();
    if (!plan.ok()) return all;
    const PlanArena& arena = (*plan)->arenas[0];
    const auto values = static_cast<double>(arena.bytes - arena.scratch_bytes);
    const auto bound = static_cast<double>(arena.lower_bound_bytes);
    if (all.empty()) {
      char start[128];
      std::snprintf(start, sizeof start, "| %s, %s | %.2f MiB |", model.c_str(), stage.name.c_str(), bound / (1 << 20));
      line = start;
    }
    all.push_back(100 * (values / bound - 1));
    char cell[64];
    std::snprintf(cell, sizeof cell, " +%.1f %% |", all.back());
    line += cell;
  }
  std::printf("%s\n", line.c_str());
  return all;
}

TEST(ModelArenas, GreedyBySizeComesNearTheLowerBound) {
  const auto engine = Engine::create({.threads = 1}).value();
  std::printf("| stage | lower bound | greedy by size | first fit | best fit |\n|---|---|---|---|---|\n");
  for (const Stage& stage : shipped_stages(32)) {
    const auto found = distances("shipped model at 256x256", stage, *engine);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_LE(found[0], 5.0) << stage.name;
  }
  for (const Stage& stage : sd15_stages(64)) {
    const auto found = distances("SD 1.5 at 512x512", stage, *engine);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_LE(found[0], 5.0) << stage.name;
  }
}

}  // namespace
}  // namespace chiaro::testing
