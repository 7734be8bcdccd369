// The shipped model's UNet and decoder where a device refuses some ops: every op in turn, and random subsets. The same
// bytes as one device gives, whatever falls back.
//
// CHIARO_RANDOM_MASKS=200 sets how many subsets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "../sanitized.h"
#include "model_stages.h"
#include "random_case.h"

namespace chiaro::testing {
namespace {

constexpr int64_t kSide = 4;  // of the latent: the smallest that the UNet's three levels divide

std::vector<Stage> unet_and_decoder() {
  std::vector<Stage> stages = shipped_stages(kSide);
  std::erase_if(stages, [](const Stage& stage) { return stage.name == "encode"; });
  return stages;
}

std::vector<std::string> ops_of(const std::vector<Stage>& stages) {
  std::set<std::string> names;
  for (const Stage& stage : stages) {
    for (const Node& node : stage.graph.nodes()) {
      if (node.op->kind != OpKind::view) names.emplace(node.op->name);
    }
  }
  return {names.begin(), names.end()};
}

struct Fallbacks {
  int nodes = 0, on_copy = 0, copies = 0;
  int64_t bytes = 0;
};

bool finite(const PortBytes& outputs) {
  for (const auto& bytes : outputs) {
    for (size_t i = 0; i < bytes.size() / 4; ++i) {
      if (!std::isfinite(load_element(DType::f32, bytes.data(), static_cast<int64_t>(i)))) return false;
    }
  }
  return true;
}

// Runs a stage on these devices and compares with the plan's own graph on one.
Fallbacks check_stage(const Stage& stage, const std::vector<std::string>& devices, const PlanOptions& options,
                      bool serial) {
  Fallbacks found;
  EngineOptions engine_options;
  engine_options.threads = 1;
  engine_options.devices = devices;
  const auto engine = Engine::create(engine_options);
  EXPECT_TRUE(engine.ok()) << engine.error().format();
  if (!engine.ok()) return found;
  const auto plan = make_plan(stage.graph, (*engine)->devices(), options);
  EXPECT_TRUE(plan.ok()) << stage.name << " on " << devices.front() << ": " << plan.error().format();
  if (!plan.ok()) return found;
  const PortBytes inputs = stage_inputs(**plan);
  const auto got = run_plan(**engine, *plan, inputs, serial);
  const auto want = run_on_one_device(**plan, inputs);
  EXPECT_TRUE(got.ok()) << stage.name << " on " << devices.front() << ": " << got.error().format();
  EXPECT_TRUE(want.ok()) << want.error().format();
  if (!got.ok() || !want.ok()) return found;
  EXPECT_TRUE(*got == *want) << stage.name << " differs on " << devices.front();
  EXPECT_TRUE(finite(*want)) << stage.name;
  for (const Node& node : (*plan)->graph.nodes()) {
    found.nodes += node.moved.empty() ? 0 : 1;
    found.on_copy += node.on_copy ? 1 : 0;
  }
  found.copies = static_cast<int>((*plan)->copies.size());
  found.bytes = (*plan)->copied_bytes();
  return found;
}

// Case 19: each op in turn is refused. What is refused falls back, node by node, and is counted.
TEST(ModelMasks, EveryOpInTurn) {
  const std::vector<Stage> stages = unet_and_decoder();
  ASSERT_EQ(stages.size(), 2U);
  for (const std::string& op : ops_of(stages)) {
    for (const Stage& stage : stages) {
      const auto nodes = std::count_if(stage.graph.nodes().begin(), stage.graph.nodes().end(),
                                       [&](const Node& node) { return node.op->name == op; });
      if (nodes == 0) continue;
      PlanOptions unfused;
      unfused.fuse = false;
      const Fallbacks found = check_stage(stage, {"isolated:a,no=" + op, "cpu"}, unfused, true);
      std::printf("%-7s without %-20s %3d of %zu nodes moved, %d on a copy, %3d copies, %7.1f KiB\n",
                  stage.name.c_str(), op.c_str(), found.nodes, stage.graph.nodes().size(), found.on_copy, found.copies,
                  static_cast<double>(found.bytes) / 1024);
      EXPECT_GE(found.nodes, nodes) << op;
    }
  }
}

TEST(ModelMasks, RandomSubsets) {
  const char* count_text = std::getenv("CHIARO_RANDOM_MASKS");
  const int count = count_text != nullptr ? std::atoi(count_text) : CHIARO_SANITIZED ? 2 : 20;
  const std::vector<Stage> stages = unet_and_decoder();
  const std::vector<std::string> ops = ops_of(stages);
  Fallbacks all;
  for (int i = 0; i < count; ++i) {
    std::mt19937_64 random(static_cast<uint64_t>(i));
    std::vector<std::string> devices;
    for (const char* name : {"isolated:a", "isolated:b"}) {
      if (name[9] == 'b' && random() % 2 == 0) continue;
      IsolatedSpec spec;
      spec.name = name;
      for (const std::string& op : ops) {
        if (random() % 3 == 0) spec.mask.push_back({op, {}, random() % 3 == 0});
      }
      if (random() % 4 == 0) spec.copy_delay = std::chrono::microseconds(50);
      devices.push_back(spec_text(spec));
    }
    devices.emplace_back("cpu");
    PlanOptions options;
    options.fuse = random() % 2 == 0;
    for (const Stage& stage : stages) {
      const Fallbacks found = check_stage(stage, devices, options, random() % 2 == 0);
      all.nodes += found.nodes;
      all.on_copy += found.on_copy;
      all.copies += found.copies;
      all.bytes += found.bytes;
      ASSERT_FALSE(HasFailure()) << "mask " << i;
    }
  }
  std::printf("%d masks: %d nodes moved, %d on a copy, %d copies, %.1f MiB\n", count, all.nodes, all.on_copy,
              all.copies, static_cast<double>(all.bytes) / (1 << 20));
  EXPECT_GT(all.nodes, 10 * count);
}

}  // namespace
}  // namespace chiaro::testing
