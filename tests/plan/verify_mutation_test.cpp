// Does the verifier find what is wrong? Valid plans of random graphs are broken in every way that a pass could get
// wrong. An oracle that runs the broken plan says which breaks do harm; verify() has to refuse those.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <random>

#include "graph/text.h"
#include "guarded_run.h"
#include "ops/conformance/reference_eval.h"
#include "plan/verify.h"
#include "random_graph.h"
#include "sanitized.h"

namespace chiaro {
namespace {

using testing::guarded_run;
using testing::GuardedRun;

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

// Breaks one thing; `undo` mends it. Nothing to break here: an empty name.
struct Mutation {
  std::string name;
  std::function<void()> undo;
};

class Mutator {
 public:
  Mutator(ExecutionPlan& plan, std::mt19937_64& random) : plan_(plan), random_(random) {}

  Mutation run() {
    switch (below(12)) {
      case 0: return drop_step();
      case 1: return swap_steps();
      case 2: return move_step();
      case 3: return change("shift an operand", any_operand(), &Mutator::shifted);
      case 4: return change("shift a result", &any_step().output, &Mutator::shifted);
      case 5: return change("redirect an operand", any_operand(), &Mutator::elsewhere);
      case 6: return change("redirect a result", &any_step().output, &Mutator::elsewhere);
      case 7: return shrink_arena();
      case 8: return move_scratch();
      case 9: return read_newer();
      case 10: return change("shift an output", &any_output().memory, &Mutator::shifted);
      default: return change("redirect an output", &any_output().memory, &Mutator::elsewhere);
    }
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  PlanStep& any_step() { return plan_.steps[below(plan_.steps.size())]; }
  PlanPort& any_output() { return plan_.outputs[below(plan_.outputs.size())]; }
  const Node& node_of(const PlanStep& step) const { return plan_.graph.nodes()[static_cast<size_t>(step.node)]; }

  MemRef* any_operand() {
    PlanStep& step = any_step();
    MemRef& ref = step.inputs[below(step.inputs.size())];
    return ref.region == Region::none ? &step.inputs[0] : &ref;
  }

  MemRef shifted(MemRef ref) {
    static constexpr int64_t kBy[] = {4, -4, 8, 16, 32, 48, 64, -64, 128, -128, 256, 1024};
    ref.offset += kBy[below(std::size(kBy))];
    return ref;
  }

  // The memory of another operand, result, input or weight.
  MemRef elsewhere(MemRef) {
    const PlanStep& step = any_step();
    switch (below(8)) {
      case 0: return plan_.inputs[below(plan_.inputs.size())].memory;
      case 1: return any_output().memory;
      case 2: return step.output;
      default: return *any_operand();
    }
  }

  Mutation change(const char* name, MemRef* ref, MemRef (Mutator::*to)(MemRef)) {
    const MemRef before = *ref;
    *ref = (this->*to)(before);
    if (*ref == before) return {};
    return {name, [ref, before] { *ref = before; }};
  }

  Mutation drop_step() {
    const size_t at = below(plan_.steps.size());
    const auto dropped = std::make_shared<PlanStep>(std::move(plan_.steps[at]));
    plan_.steps.erase(plan_.steps.begin() + static_cast<std::ptrdiff_t>(at));
    return {"drop a step", [this, dropped, at] {
              plan_.steps.insert(plan_.steps.begin() + static_cast<std::ptrdiff_t>(at), std::move(*dropped));
            }};
  }

  Mutation swap_steps() {
    if (plan_.steps.size() < 2) return {};
    const size_t a = below(plan_.steps.size() - 1), b = a + 1 + below(2) * below(plan_.steps.size() - a - 1);
    std::swap(plan_.steps[a], plan_.steps[b]);
    return {"swap two steps", [this, a, b] { std::swap(plan_.steps[a], plan_.steps[b]); }};
  }

  Mutation move_step() {
    const size_t a = below(plan_.steps.size()), b = below(plan_.steps.size());
    if (a == b) return {};
    const auto move = [this](size_t from, size_t to) {
      const auto begin = plan_.steps.begin();
      const auto f = static_cast<std::ptrdiff_t>(from), t = static_cast<std::ptrdiff_t>(to);
      if (from < to)
        std::rotate(begin + f, begin + f + 1, begin + t + 1);
      else
        std::rotate(begin + t, begin + f, begin + f + 1);
    };
    move(a, b);
    return {"move a step", [move, a, b] { move(b, a); }};
  }

  Mutation shrink_arena() {
    const int64_t before = plan_.arena_bytes;
    if (before == 0) return {};
    plan_.arena_bytes -= below(3) == 0 ? 4 : 64 * static_cast<int64_t>(1 + below(4));
    if (plan_.arena_bytes < 0) plan_.arena_bytes = 0;
    return {"shrink the arena", [this, before] { plan_.arena_bytes = before; }};
  }

  Mutation move_scratch() {
    std::vector<PlanStep*> with;
    for (PlanStep& step : plan_.steps) {
      if (step.kernel.scratch_bytes() > 0) with.push_back(&step);
    }
    if (with.empty()) return {};
    PlanStep* step = with[below(with.size())];
    const int64_t before = step->scratch_offset;
    const MemRef target = *any_operand();
    if (target.region != Region::arena) return {};
    step->scratch_offset = target.offset / 64 * 64;  // kernels may rely on the alignment
    return {"move scratch", [step, before] { step->scratch_offset = before; }};
  }

  // A copy saved an old version: its reader reads the memory that went on instead.
  Mutation read_newer() {
    for (size_t tries = 0; tries < 20; ++tries) {
      PlanStep& copy = any_step();
      if (node_of(copy).op->name != "contiguous" || copy.inputs[0] == copy.output) continue;
      for (PlanStep& reader : plan_.steps) {
        for (MemRef& ref : reader.inputs) {
          if (&reader != &copy && ref == copy.output && below(2) == 0) {
            MemRef* const place = &ref;
            const MemRef before = ref;
            ref = copy.inputs[0];
            return {"read past a saved copy", [place, before] { *place = before; }};
          }
        }
      }
    }
    return {};
  }

  ExecutionPlan& plan_;
  std::mt19937_64& random_;
};

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

bool does_harm(Device& device, const Subject& s, int64_t arena_bytes) {
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
  constexpr int kPlans = 500, kMutantsEach = 12;
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
    const int64_t arena_bytes = s.plan->arena_bytes;
    for (int i = 0; i < 2; ++i) {
      s.inputs.push_back(random_inputs(*s.plan, random));
      s.whole.push_back(guarded_run(device, *s.plan, arena_bytes, s.inputs.back()));
    }
    expect_meaning(made.graph, s);
    if (HasFatalFailure()) FAIL() << "seed " << seed << "\n" << print_graph(made.graph) << s.plan->text();
    Mutator mutator(*s.plan, random);
    for (int m = 0; m < kMutantsEach; ++m) {
      const Mutation mutation = mutator.run();
      if (mutation.name.empty()) continue;
      if (testing::may_run(*s.plan, arena_bytes)) {
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
