// One step of the samplers' shared graph, and the toy network of tests/golden/schedulers/README.md.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "diffusion/sampler.h"
#include "runtime/executor.h"

namespace chiaro::testing {

inline constexpr size_t kValues = 2 * 4 * 4 * 4;
inline const Shape kShape{2, 4, 4, 4};

// out[i] = 0.3 x[i] + 0.1 sin(t / 100 + 0.01 i)
inline std::vector<float> toy_network(std::span<const float> x, double t) {
  std::vector<float> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    out[i] = static_cast<float>(0.3 * double{x[i]} + 0.1 * std::sin(t / 100 + 0.01 * static_cast<double>(i)));
  }
  return out;
}

// One step of the graph that every sampler shares.
class StepRunner {
 public:
  StepRunner() : engine_(Engine::create({.threads = 1}).value()) {
    GraphBuilder g;
    const Value x = g.input("x", dense(DType::f32, kShape));
    const Value out = g.input("out", dense(DType::f32, kShape));
    const Value previous = g.input("previous", dense(DType::f32, kShape));
    const Value noise = g.input("noise", dense(DType::f32, kShape));
    const Value scalars = g.input("scalars", dense(DType::f32, {kStepScalars}));
    const StepValues step = sampler_step(g, x, out, previous, noise, scalars);
    g.output("x", step.x);
    g.output("denoised", step.denoised);
    const Graph graph = g.finish().value();
    executor_ = Executor::create(*engine_, make_plan(graph, engine_->devices()).value()).value();
  }
  // Advances `x`; `denoised` is read as the step before's and replaced.
  void run(const SamplerStep& step, std::vector<float>& x, std::span<const float> out, std::vector<float>& denoised,
           std::span<const float> noise) {
    const std::vector<float> scalars = step_scalars(step);
    std::vector<float> next(x.size()), guess(x.size());
    const Binding inputs[] = {bind_port("x", std::span<const float>(x)), bind_port("out", out),
                              bind_port("previous", std::span<const float>(denoised)), bind_port("noise", noise),
                              bind_port("scalars", std::span<const float>(scalars))};
    const Binding outputs[] = {bind_port("x", std::span(next)), bind_port("denoised", std::span(guess))};
    const Status status = executor_->run(inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.error().format();
    x = next;
    denoised = guess;
  }

 private:
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace chiaro::testing
