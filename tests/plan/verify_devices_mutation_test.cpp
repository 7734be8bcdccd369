// Does the verifier find what is wrong in plans for several devices? Valid plans of random graphs are broken in every
// way that a pass could get wrong; an oracle by brute force (happens_before.h) says which breaks do harm, and verify()
// has to refuse those. CHIARO_MUTATED_PLANS=N takes N plans instead of the quick number.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

#include "graph/text.h"
#include "guarded_run.h"
#include "happens_before.h"
#include "mutate_plan.h"
#include "plan/rewriter.h"
#include "plan/verify.h"
#include "random_graph.h"
#include "runtime/engine.h"
#include "sanitized.h"

namespace chiaro {
namespace {

using testing::guarded_run;
using testing::GuardedRun;
using testing::Mutation;
using testing::Mutator;
using testing::Oracle;

int plans_wanted(int quick) {
  const char* text = std::getenv("CHIARO_MUTATED_PLANS");
  return text == nullptr ? quick : std::atoi(text);
}

// Two to four devices, each poor in its own way; the CPU may lack ops, too.
std::shared_ptr<Engine> random_engine(std::mt19937_64& random) {
  static constexpr const char* kOps[] = {"silu",       "add",     "mul",      "sub",    "silu_", "add_",
                                         "contiguous", "softmax", "rms_norm", "matmul", "write", "scale"};
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  EngineOptions options;
  options.threads = 1;
  const size_t isolated = 1 + below(3);
  if (below(2) == 0) options.devices.push_back("cpu");
  for (size_t d = 0; d < isolated; ++d) {
    IsolatedSpec spec;
    spec.name = std::string("isolated:") + static_cast<char>('a' + d);
    for (const char* op : kOps) {
      if (below(4) == 0) spec.mask.push_back({op, {}, below(4) == 0});
    }
    if (below(4) == 0) spec.addresses.push_back("cpu");
    if (d > 0 && below(4) == 0) spec.addresses.push_back("isolated:a");
    options.isolated.push_back(spec);
  }
  for (const char* op : kOps) {
    if (below(8) == 0) options.disabled_ops.push_back(std::string(op) + "@cpu");
  }
  return Engine::create(std::move(options)).value();
}

// The graph with some nodes pinned to devices, which scatters it.
Graph pinned(const Graph& graph, std::span<Device* const> devices, std::mt19937_64& random) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    Node like = node;
    if (node.op->kind != OpKind::view && random() % 4 == 0) {
      like.pin = devices[static_cast<size_t>(random() % devices.size())]->traits().name;
    }
    rewriter.map(node.output, rewriter.emit(like, *node.op, node.attrs, rewriter.mapped_inputs(node)));
  }
  return rewriter.finish().value();
}

// The graph without the planner's word on who runs what and without pins, so that a moved node is not told by its name.
Graph unplaced(const Graph& graph) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    Node like = node;
    like.pin = like.device = "";
    rewriter.map(node.output, rewriter.emit(like, *node.op, node.attrs, rewriter.mapped_inputs(node)));
  }
  return rewriter.finish().value();
}

struct Subject {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<ExecutionPlan> plan;  // null where the devices cannot run the graph
};

Subject random_subject(uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  Subject s{random_engine(random), nullptr};
  const testing::RandomGraph made = testing::random_graph(seed + 70000, 4 + static_cast<int>(seed % 20));
  const Graph graph = seed % 4 == 0 ? made.graph : pinned(made.graph, s.engine->devices(), random);
  const auto plan = make_plan(graph, s.engine->devices(), {.fuse = seed % 2 == 0, .reuse = seed % 3 != 0});
  if (!plan.ok()) {
    // What no device can run is refused; a plan that its own verifier refuses is a mistake.
    EXPECT_NE(plan.error().code, ErrorCode::internal) << "seed " << seed << "\n" << plan.error().format();
    return s;
  }
  s.plan = std::const_pointer_cast<ExecutionPlan>(*plan);
  if (seed % 3 == 1) s.plan->graph = unplaced(s.plan->graph);
  return s;
}

struct Tally {
  int made = 0, harmful = 0, refused_harmful = 0, refused_harmless = 0;
  void add(bool harm, bool refused) {
    ++made;
    harmful += harm ? 1 : 0;
    refused_harmful += harm && refused ? 1 : 0;
    refused_harmless += !harm && refused ? 1 : 0;
  }
};

void print(const std::string& name, const Tally& t) {
  std::cout << "  " << name << std::string(name.size() < 32 ? 32 - name.size() : 1, ' ') << t.made << " made, "
            << t.harmful << " harmful, of these " << t.refused_harmful << " refused; of " << t.made - t.harmful
            << " harmless " << t.refused_harmless << " refused\n";
}

// A harmless mutant gives the bytes of the whole plan. This holds the oracle to what kernels really do.
void expect_same_bytes(const Subject& s, const std::vector<int64_t>& arenas, const std::vector<std::vector<float>>& in,
                       const GuardedRun& whole, const std::string& name) {
  const GuardedRun run = guarded_run(*s.engine->device("cpu"), *s.plan, arenas, in);
  EXPECT_TRUE(run.stayed && run.outputs == whole.outputs) << "the oracle takes a harmful mutant for harmless: " << name;
}

std::vector<std::vector<float>> random_inputs(const ExecutionPlan& plan, std::mt19937_64& random) {
  std::vector<std::vector<float>> all;
  for (const PlanPort& port : plan.inputs) {
    std::vector<float>& values = all.emplace_back(static_cast<size_t>(port.desc.count()));
    for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 4000) - 2000) / 1000.0F;
  }
  return all;
}

TEST(VerifyDevicesMutations, HarmfulOnesAreRefused) {
  constexpr int kMutantsEach = 30;
  const int wanted = plans_wanted(CHIARO_SANITIZED ? 20 : 80);
  std::mt19937_64 random(31337);
  std::map<std::string, Tally> tallies, reasons;
  Tally all;
  std::vector<std::string> missed;
  int plans = 0, several = 0;
  for (uint64_t seed = 0; plans < wanted; ++seed) {
    const Subject s = random_subject(seed);
    if (!s.plan || s.plan->steps.empty()) continue;
    if (s.plan->copies.empty() && seed % 8 != 0) continue;  // mostly of several devices
    ++plans;
    several += s.plan->copies.empty() ? 0 : 1;
    Oracle oracle(*s.plan);
    ASSERT_EQ(oracle.harm(*s.plan, 4, seed), "") << "seed " << seed << "\n" << s.plan->text();
    const std::vector<int64_t> arenas = testing::arena_sizes(*s.plan);
    const auto in = random_inputs(*s.plan, random);
    const GuardedRun whole = guarded_run(*s.engine->device("cpu"), *s.plan, arenas, in);
    Mutator mutator(*s.plan, random, &oracle);
    for (int m = 0; m < kMutantsEach; ++m) {
      const Mutation mutation = mutator.any();
      if (mutation.name.empty()) continue;
      const std::string harm = oracle.harm(*s.plan, 1, seed);
      const bool refused = !verify(*s.plan).ok();
      tallies[mutation.name].add(!harm.empty(), refused);
      all.add(!harm.empty(), refused);
      if (!harm.empty()) reasons[harm.substr(0, harm.find_first_of("0123456789"))].add(true, refused);
      if (!harm.empty() && !refused) missed.push_back(mutation.name + " in seed " + std::to_string(seed) + ": " + harm);
      if (harm.empty()) expect_same_bytes(s, arenas, in, whole, mutation.name + " in seed " + std::to_string(seed));
      mutation.undo();
    }
    ASSERT_TRUE(verify(*s.plan).ok()) << "the plan was not mended";
  }
  for (const auto& [name, tally] : tallies) print(name, tally);
  std::cout << "  harm, by its reason:\n";
  for (const auto& [name, tally] : reasons) print(name, tally);
  print("all", all);
  for (const std::string& text : missed) std::cout << "  missed: " << text << "\n";
  std::cout << "  " << plans << " plans, " << several << " of them with copies\n";
  EXPECT_GE(all.harmful, CHIARO_SANITIZED ? 100 : 1000);
  EXPECT_GE(all.refused_harmful * 100, all.harmful * 99);
  for (const auto& [name, tally] : tallies) EXPECT_GT(tally.made, 0) << name;
}

// The oracle agrees that the plans are right, in list order and in others that the queues allow.
TEST(VerifyDevicesMutations, ValidPlansAreNeverRefused) {
  const int wanted = plans_wanted(CHIARO_SANITIZED ? 100 : 2000);
  int plans = 0, several = 0;
  for (uint64_t seed = 1000000; plans < wanted; ++seed) {
    const Subject s = random_subject(seed);
    if (!s.plan) continue;
    ++plans;
    several += s.plan->copies.empty() ? 0 : 1;
    const Status status = verify(*s.plan);
    ASSERT_TRUE(status.ok()) << "seed " << seed << "\n" << status.error().format();
    if (plans % 8 != 0) continue;
    ASSERT_EQ(Oracle(*s.plan).harm(*s.plan, 4, seed), "") << "seed " << seed;
  }
  std::cout << "  " << plans << " valid plans, " << several << " with copies\n";
}

}  // namespace
}  // namespace chiaro
