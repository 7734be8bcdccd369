// Does the verifier find what is wrong? Valid plans of random graphs are broken in every way that a pass could get
// wrong. An oracle that runs the broken plan says which breaks do harm; verify() has to refuse those.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <random>

#include "graph/text.h"
#include "guarded_run.h"
#include "mutate_plan.h"
#include "ops/conformance/reference_eval.h"
#include "plan/verify.h"
#include "random_graph.h"
#include "sanitized.h"

namespace chiaro {
namespace {

using testing::guarded_run;
using testing::GuardedRun;
using testing::Mutation;
using testing::Mutator;

using Floats = std::vector<std::vector<float>>;

std::shared_ptr<Engine> one_thread() {
  EngineOptions options;
  options.threads = 1;
  return Engine::create(std::move(options)).value();
}

// A plan that may be broken and mended again.
std::shared_ptr<ExecutionPlan> open_plan(const Graph& graph, Engine& engine, const PlanOptions& options) {
  auto plan = make_plan(graph, engine.devices(), options);
  EXPECT_TRUE(plan.ok()) << plan.error().format();
  return plan.ok() ? std::const_pointer_cast<ExecutionPlan>(*plan) : nullptr;
}

Floats random_inputs(const ExecutionPlan& plan, std::mt19937_64& random) {
  Floats all;
  for (const PlanPort& port : plan.inputs) {
    std::vector<float>& values = all.emplace_back(static_cast<size_t>(port.desc.count()));
    for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 4000) - 2000) / 1000.0F;
  }
  return all;
}

struct Tally {
  int made = 0, harmful = 0, refused_harmful = 0, refused_harmless = 0;
};

void print(const std::map<std::string, Tally>& tallies, const Tally& all) {
  const auto line = [](const std::string& name, const Tally& t) {
    std::cout << "  " << name << std::string(name.size() < 24 ? 24 - name.size() : 1, ' ') << t.made << " made, "
              << t.harmful << " harmful, of these " << t.refused_harmful << " refused; of " << t.made - t.harmful
              << " harmless " << t.refused_harmless << " refused\n";
  };
  for (const auto& [name, tally] : tallies) line(name, tally);
  line("all", all);
}

// The plans of one seed, and the bytes that they give on two inputs when they are whole.
struct Subject {
  std::shared_ptr<ExecutionPlan> plan;
  std::vector<Floats> inputs;
  std::vector<GuardedRun> whole;
};

bool does_harm(Device& device, const Subject& s, const std::vector<int64_t>& arena_bytes) {
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    const GuardedRun run = guarded_run(device, *s.plan, arena_bytes, s.inputs[i]);
    if (!run.stayed || run.outputs != s.whole[i].outputs) return true;
  }
  return false;
}

void expect_meaning(const Graph& graph, const Subject& s) {
  for (size_t i = 0; i < s.inputs.size(); ++i) {
    std::vector<ReferenceInput> in;
    for (size_t p = 0; p < s.inputs[i].size(); ++p) {
      in.push_back({s.plan->inputs[p].name, {s.inputs[i][p].begin(), s.inputs[i][p].end()}});
    }
    const auto want = evaluate_reference(graph, in);
    ASSERT_TRUE(want.ok()) << want.error().format();
    ASSERT_TRUE(s.whole[i].stayed);
    for (size_t o = 0; o < want->size(); ++o) {
      const auto* got = reinterpret_cast<const float*>(s.whole[i].outputs[o].data());
      for (size_t e = 0; e < (*want)[o].data.size(); ++e) {
        const double value = (*want)[o].data[e];
        ASSERT_NEAR(got[e], value, 1e-3 * (1 + std::abs(value))) << "output " << o << "[" << e << "]";
      }
    }
  }
}

// Broken plans make kernels do what they must never do (operands that overlap): in memory of the test's own, where it
// harms nobody, but a sanitizer rightly ends the process at the first one.
TEST(VerifyMutations, HarmfulOnesAreRefused) {
  if (CHIARO_SANITIZED) GTEST_SKIP() << "the mutants are run without sanitizers only";
  constexpr int kPlans = 500, kMutantsEach = 26;
  const auto engine = one_thread();
  Device& device = *engine->devices().front();
  std::mt19937_64 random(20240607);
  std::map<std::string, Tally> tallies;
  Tally all;
  std::vector<std::string> missed;
  for (uint64_t seed = 0; seed < kPlans; ++seed) {
    const testing::RandomGraph made = testing::random_graph(seed + 9000, 6 + static_cast<int>(seed % 26));
    Subject s{open_plan(made.graph, *engine, {.fuse = true, .reuse = seed % 3 != 0}), {}, {}};
    if (s.plan->steps.empty()) continue;
    const std::vector<int64_t> arena_bytes = testing::arena_sizes(*s.plan);
    for (int i = 0; i < 2; ++i) {
      s.inputs.push_back(random_inputs(*s.plan, random));
      s.whole.push_back(guarded_run(device, *s.plan, arena_bytes, s.inputs.back()));
    }
    expect_meaning(made.graph, s);
    if (HasFatalFailure()) FAIL() << "seed " << seed << "\n" << print_graph(made.graph) << s.plan->text();
    Mutator mutator(*s.plan, random);
    for (int m = 0; m < kMutantsEach; ++m) {
      const Mutation mutation = mutator.any();
      if (mutation.name.empty()) continue;
      // Kernels of other nodes are left to the tests with an oracle: they may take operands that are not there.
      if (mutation.name != "swap two kernels" && testing::may_run(*s.plan, arena_bytes)) {
        const bool harmful = does_harm(device, s, arena_bytes), refused = !verify(*s.plan).ok();
        for (Tally* t : {&tallies[mutation.name], &all}) {
          ++t->made;
          t->harmful += harmful ? 1 : 0;
          t->refused_harmful += harmful && refused ? 1 : 0;
          t->refused_harmless += !harmful && refused ? 1 : 0;
        }
        if (harmful && !refused) missed.push_back(mutation.name + " in seed " + std::to_string(seed));
      }
      mutation.undo();
    }
    ASSERT_TRUE(verify(*s.plan).ok()) << "the plan was not mended";
  }
  print(tallies, all);
  for (const std::string& text : missed) std::cout << "  missed: " << text << "\n";
  EXPECT_GE(all.harmful, 1000);
  EXPECT_GE(all.refused_harmful * 100, all.harmful * 99);
}

// make_plan verifies what it made: a refusal would be its error.
TEST(VerifyMutations, ValidPlansAreNeverRefused) {
  const auto engine = one_thread();
  int plans = 0, refused = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const testing::RandomGraph made = testing::random_graph(seed + 50000, 4 + static_cast<int>(seed % 60));
    for (const bool fuse : {true, false}) {
      for (const bool reuse : {true, false}) {
        const auto plan = make_plan(made.graph, engine->devices(), {.fuse = fuse, .reuse = reuse});
        ++plans;
        if (!plan.ok()) ++refused;
        EXPECT_TRUE(plan.ok()) << "seed " << seed << "\n" << plan.error().format();
      }
    }
  }
  std::cout << "  " << plans << " valid plans, " << refused << " refused\n";
  EXPECT_GE(plans, 2000);
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace chiaro
