#include "graph_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/engine.h"
#include "runtime/executor.h"

namespace chiaro::test {

Result<Floats> try_run(const Graph& graph, Floats floats, Ints ints, const RunSettings& settings) {
  EngineOptions options;
  options.threads = settings.threads;
  options.cpu_kernels = settings.cpu_kernels;
  CHIARO_ASSIGN(const auto engine, Engine::create(std::move(options)));
  CHIARO_ASSIGN(auto plan, make_plan(graph, engine->devices(), settings.plan));
  CHIARO_ASSIGN(const auto executor, Executor::create(*engine, plan));
  std::vector<Binding> inputs, outputs;
  for (auto& [name, values] : floats) inputs.push_back(bind_port(name, std::span<float>(values)));
  for (auto& [name, values] : ints) inputs.push_back(bind_port(name, std::span<int32_t>(values)));
  Floats results;
  for (const PlanPort& port : plan->outputs) {
    auto& values = results[port.name];
    values.resize(static_cast<size_t>(port.desc.count()), std::numeric_limits<float>::quiet_NaN());
    outputs.push_back(bind_port(port.name, std::span<float>(values)));
  }
  CHIARO_TRY(executor->run(inputs, outputs));
  return results;
}

Floats run_graph(const Result<Graph>& graph, Floats floats, Ints ints, const RunSettings& settings) {
  EXPECT_TRUE(graph.ok()) << graph.error().format();
  if (!graph.ok()) return {};
  auto results = try_run(*graph, std::move(floats), std::move(ints), settings);
  EXPECT_TRUE(results.ok()) << results.error().format();
  return results.ok() ? std::move(results).value() : Floats{};
}

void expect_golden_however_fused(const Result<Graph>& graph, const Floats& floats, const Ints& ints,
                                 const std::string& name, const std::vector<float>& expected) {
  const auto output = [&](const PlanOptions& plan, const std::string& how) {
    Floats out = run_graph(graph, floats, ints, {.threads = 2, .plan = plan});
    EXPECT_LT(relative_error(out[name], expected), kGoldenTolerance) << how;
    return std::move(out[name]);
  };
  const std::vector<float> all = output({}, "all rewrites");
  output({.fuse = false}, "no rewrites");
  for (const std::string_view rewrite : fuse_rewrites()) {
    const std::string left_out(rewrite);
    const std::vector<float> without = output({.skip = {left_out}}, "without " + left_out);
    // A norm's weight and bias are one multiply-add where they were two nodes.
    EXPECT_TRUE(rewrite == "fuse.norm" || without == all) << "other bytes without " << left_out;
  }
}

double relative_error(const std::vector<float>& actual, const std::vector<float>& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (actual.size() != expected.size() || expected.empty()) return kInfinity;
  double difference = 0, largest = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double d = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    if (!std::isfinite(d)) return kInfinity;
    difference = std::max(difference, d);
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return difference / largest;
}

}  // namespace chiaro::test
