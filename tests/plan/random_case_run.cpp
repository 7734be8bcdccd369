#include "random_case_run.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "ops/conformance/reference_eval.h"
#include "random_graph_edit.h"

namespace chiaro::testing {
namespace {

Engine& plain_engine() {
  static const std::shared_ptr<Engine> engine = Engine::create({.threads = 1}).value();
  return *engine;
}

Binding binding_of(const PlanPort& port, std::vector<std::byte>& bytes) {
  return {port.name, bytes.data(), static_cast<int64_t>(bytes.size())};
}

std::vector<double> to_doubles(DType dtype, const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / static_cast<size_t>(unit_bytes(dtype)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = load_element(dtype, bytes.data(), static_cast<int64_t>(i));
  return values;
}

struct Wanted {
  std::vector<RefTensor> exact, rounded;  // in double precision; with every tensor rounded to its dtype
};

Result<Wanted> oracle(const Graph& graph, const ExecutionPlan& plan, const PortBytes& inputs) {
  std::vector<ReferenceInput> in;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    in.push_back({plan.inputs[i].name, to_doubles(plan.inputs[i].desc.dtype, inputs[i])});
  }
  Wanted wanted;
  CHIARO_ASSIGN(wanted.exact, evaluate_reference(graph, in));
  CHIARO_ASSIGN(wanted.rounded, evaluate_reference(graph, in, {.round = true}));
  return wanted;
}

bool has_half(const Graph& graph) {
  for (const ValueInfo& info : graph.values()) {
    if (info.desc.dtype != DType::f32) return true;
  }
  return false;
}

// 1e-4 of a value, as for one device (plan_test.cpp), and several times what storing each tensor in its type changes: a
// norm of a difference that cancels makes much of little. A fused op rounds to f16 or bf16 less often than its parts.
std::optional<std::string> compare(const RandomCase& c, const ExecutionPlan& plan, const PortBytes& got,
                                   const Wanted& want, bool& whole) {
  const bool half = has_half(c.graph);
  whole = true;
  for (size_t o = 0; o < got.size(); ++o) {
    const std::vector<double> values = to_doubles(plan.outputs[o].desc.dtype, got[o]);
    double spread = 0, largest = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::abs(want.rounded[o].data[i]));
      spread = std::max(spread, std::abs(want.rounded[o].data[i] - want.exact[o].data[i]));
    }
    if (!std::isfinite(largest) || !std::isfinite(spread) || (half && largest > 3e4)) {
      whole = false;  // an overflow of the graph's own
      continue;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const double w = want.rounded[o].data[i];
      const double bound = 1e-4 * (1 + std::abs(w)) + 8 * spread + (half ? 0.02 * (1 + largest) : 0);
      if (std::abs(values[i] - w) <= bound) continue;
      return fmt::format("output {}[{}] is {}, the oracle has {}, and {} apart is allowed", plan.outputs[o].name, i,
                         values[i], w, bound);
    }
  }
  return {};
}

void count(const ExecutionPlan& plan, CaseReport& report) {
  std::set<int32_t> devices;
  for (const PlanStep& step : plan.steps) {
    if (step.copy < 0) devices.insert(step.device);
  }
  report.devices = static_cast<int>(devices.size());
  report.copies = static_cast<int>(plan.copies.size());
  for (const Node& node : plan.graph.nodes()) {
    report.moved += node.moved.empty() ? 0 : 1;
    report.on_copy += node.on_copy ? 1 : 0;
  }
}

// The same case without what may make a right planner refuse it.
CaseReport without(RandomCase c, bool pins) {
  for (IsolatedSpec& spec : c.devices) spec.budget_bytes = spec.fail_at = 0;
  if (pins) {
    GraphEdit edit(c.graph);
    for (std::string& pin : edit.pin) pin.clear();
    c.graph = edited(c.graph, edit).value();
    c.disabled.clear();
  }
  return check_case(c);
}

bool limited(const RandomCase& c) {
  return std::any_of(c.devices.begin(), c.devices.end(),
                     [](const IsolatedSpec& s) { return s.budget_bytes > 0 || s.fail_at > 0; });
}

bool may_be_refused(const RandomCase& c) {
  return !c.disabled.empty() || std::any_of(c.graph.nodes().begin(), c.graph.nodes().end(),
                                            [](const Node& node) { return !node.pin.empty(); });
}

CaseReport refused(const RandomCase& c, const Error& error) {
  CaseReport report;
  if (error.code == ErrorCode::out_of_memory && limited(c)) {
    report = without(c, false);
    report.out_of_memory = true;
  } else if (error.code == ErrorCode::unsupported && may_be_refused(c)) {
    report = without(c, true);
    report.refused = true;
  } else {
    report.failure = error.format();
  }
  return report;
}

}  // namespace

PortBytes named_inputs(const ExecutionPlan& plan) {
  PortBytes inputs;
  for (const PlanPort& port : plan.inputs) {
    const std::vector<float> values = named_values(port.name, port.desc.count());
    auto& bytes = inputs.emplace_back(static_cast<size_t>(port.desc.dense_bytes()));
    for (size_t i = 0; i < values.size(); ++i) {
      store_element(port.desc.dtype, bytes.data(), static_cast<int64_t>(i), 2.0 * values[i]);
    }
  }
  return inputs;
}

Result<PortBytes> run_plan(Engine& engine, const std::shared_ptr<const ExecutionPlan>& plan, const PortBytes& inputs,
                           bool serial) {
  CHIARO_ASSIGN(auto executor, Executor::create(engine, plan));
  PortBytes results, sources = inputs;
  for (const PlanPort& port : plan->outputs) {
    results.emplace_back(static_cast<size_t>(port.desc.dense_bytes()), std::byte{0x5A});
  }
  std::vector<Binding> in, out;
  for (size_t i = 0; i < sources.size(); ++i) in.push_back(binding_of(plan->inputs[i], sources[i]));
  for (size_t i = 0; i < results.size(); ++i) out.push_back(binding_of(plan->outputs[i], results[i]));
  RunOptions options;
  options.serial = serial;
  CHIARO_TRY(executor->run(in, out, options));
  const PortBytes first = results;
  CHIARO_TRY(executor->run(in, out, options));  // a plan is run again at every step
  if (first != results) return Error{ErrorCode::internal, "the second run differs", "", "", ""};
  if (sources != inputs) return Error{ErrorCode::internal, "an input was written", "", "", ""};
  return results;
}

Result<PortBytes> run_on_one_device(const ExecutionPlan& plan, const PortBytes& inputs) {
  PlanOptions as_it_stands;
  as_it_stands.fuse = false;
  as_it_stands.skip = {"canonicalise", "fold_constants"};
  Engine& engine = plain_engine();
  CHIARO_ASSIGN(auto single, make_plan(stripped(plan.graph), engine.devices().first(1), as_it_stands));
  return run_plan(engine, single, inputs, false);
}

CaseReport check_case(const RandomCase& c) {
  CaseReport report;
  const auto fail = [&](std::string what) {
    report.failure = std::move(what);
    return report;
  };
  auto engine = Engine::create(engine_options(c));
  if (!engine.ok()) return fail(engine.error().format());
  auto plan = make_plan(c.graph, (*engine)->devices(), c.options);
  if (!plan.ok()) return refused(c, plan.error());
  count(**plan, report);
  const PortBytes inputs = named_inputs(**plan);
  std::optional<PortBytes> got;
  for (const bool serial : {true, false}) {
    if (serial ? !c.serial : !c.threaded) continue;
    auto run = run_plan(**engine, *plan, inputs, serial);
    if (!run.ok()) return refused(c, run.error());
    if (got && *got != *run) return fail("serial and threaded runs differ");
    got = std::move(*run);
  }
  if (!got) return fail("the case says neither serial nor threaded");
  const auto single = run_on_one_device(**plan, inputs);
  if (!single.ok()) return fail("on one device: " + single.error().format());
  for (size_t o = 0; o < got->size(); ++o) {
    if ((*got)[o] != (*single)[o]) return fail("output " + (*plan)->outputs[o].name + " differs from one device's");
  }
  const auto want = oracle(c.graph, **plan, inputs);
  if (!want.ok()) return fail("the oracle: " + want.error().format());
  if (auto wrong = compare(c, **plan, *got, *want, report.compared)) return fail(*wrong);
  return report;
}

}  // namespace chiaro::testing
