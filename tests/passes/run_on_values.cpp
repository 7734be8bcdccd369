#include "run_on_values.h"

#include <gtest/gtest.h>

namespace chiaro::testing {

std::vector<float> run_on_values(Engine& engine, const Graph& graph, const PlanOptions& options, float least,
                                 size_t& steps) {
  const auto plan = make_plan(graph, engine.devices(), options).value();
  steps = plan->steps.size();
  const auto executor = Executor::create(engine, plan).value();
  std::vector<std::vector<float>> inputs;
  std::vector<Binding> in;
  for (const PlanPort& port : plan->inputs) inputs.emplace_back(static_cast<size_t>(port.desc.count()));
  for (size_t k = 0; k < inputs.size(); ++k) {
    for (size_t i = 0; i < inputs[k].size(); ++i) {
      inputs[k][i] = least + static_cast<float>((i * 2654435761U + k * 40503U) % 4093U) / 2048.0F;
    }
    in.push_back(bind_port(plan->inputs[k].name, std::span<const float>(inputs[k])));
  }
  std::vector<float> y(static_cast<size_t>(plan->outputs[0].desc.count()));
  const Binding out[] = {bind_port("y", std::span(y))};
  const Status status = executor->run(in, out);
  EXPECT_TRUE(status.ok()) << status.error().format();
  return y;
}

}  // namespace chiaro::testing
