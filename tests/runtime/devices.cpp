#include "devices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "graph/builder.h"
#include "ops/all.h"

namespace chiaro::testing {

std::shared_ptr<Engine> engine_of(std::vector<std::string> devices, std::shared_ptr<Allocator> allocator) {
  EngineOptions options;
  options.threads = 2;
  options.devices = std::move(devices);
  options.allocator = std::move(allocator);
  auto engine = Engine::create(std::move(options));
  EXPECT_TRUE(engine.ok()) << engine.error().format();
  return std::move(engine).value();
}

IsolatedMemory& memory_of(const Engine& engine, std::string_view device) {
  return dynamic_cast<StrictDevice&>(*engine.device(device)).memory();
}

std::shared_ptr<const ExecutionPlan> plan_on(const Engine& engine, const Graph& graph, const PlanOptions& options) {
  auto plan = make_plan(graph, engine.devices(), options);
  EXPECT_TRUE(plan.ok()) << plan.error().format();
  return std::move(plan).value();
}

std::shared_ptr<ExecutionPlan> loose_plan_on(const Engine& engine, const Graph& graph, PlanOptions options) {
  options.verify = false;
  return std::const_pointer_cast<ExecutionPlan>(plan_on(engine, graph, options));
}

Result<Outputs> run(Executor& executor, const Inputs& inputs, const RunOptions& options) {
  std::vector<Binding> in, out;
  for (const auto& [name, values] : inputs) in.push_back(bind_port(name, std::span<const float>(values)));
  const auto& ports = executor.plan().outputs;
  Outputs results;
  for (const PlanPort& port : ports) results.emplace_back(static_cast<size_t>(port.desc.count()), NAN);
  for (size_t i = 0; i < results.size(); ++i) out.push_back(bind_port(ports[i].name, std::span(results[i])));
  CHIARO_TRY(executor.run(in, out, options));
  return results;
}

Result<Outputs> run_plan(Engine& engine, std::shared_ptr<const ExecutionPlan> plan, const Inputs& inputs,
                         const RunOptions& options) {
  CHIARO_ASSIGN(const auto executor, Executor::create(engine, std::move(plan)));
  return run(*executor, inputs, options);
}

Outputs reference(const Graph& graph, const Inputs& inputs) {
  const auto engine = engine_of({"cpu"});
  PlanOptions options;
  options.fuse = false;
  options.reuse = false;
  auto result = run_plan(*engine, plan_on(*engine, graph, options), inputs);
  EXPECT_TRUE(result.ok()) << result.error().format();
  return std::move(result).value();
}

bool same(const Outputs& a, const Outputs& b) {
  return a == b;  // of floats: a NaN is unlike itself
}

std::shared_ptr<const HostFunction> host_function(std::string name, HostRun run) {
  auto fn = std::make_shared<HostFunction>();
  fn->name = std::move(name);
  fn->infer = [](std::span<const TensorDesc> in) { return Result<TensorDesc>(dense(DType::f32, in[0].shape)); };
  fn->run = std::move(run);
  return fn;
}

Status host_copy(std::span<const HostTensor> in, const HostTensor& out) {
  for_each_element(in[0].desc, [&](int64_t i, int64_t offset) {
    std::memcpy(out.data + i * 4, in[0].data + offset * 4, sizeof(float));
  });
  return {};
}

Chain chain(const std::vector<std::string>& devices, int length, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  const auto values = [&](int64_t count) {
    std::vector<float> v(static_cast<size_t>(count));
    for (float& x : v) x = uniform(random);
    return v;
  };
  GraphBuilder g;
  int turn = 0;
  const auto next = [&] {
    if (!devices.empty()) g.pin_next(devices[static_cast<size_t>(turn++) % devices.size()]);
  };
  const TensorDesc desc = dense(DType::f32, {rows, 16});
  Value x = g.input("x", desc);
  const Value s = g.input("s", desc), w = g.weight(make_tensor("w", DType::f32, {16}, values(16)));
  next();
  const Value strand = add(g, s, w);
  for (int i = 0; i < length; ++i) {
    GraphBuilder::Scope scope(g, "link" + std::to_string(i));
    next();
    switch (i % 4) {
      case 0: x = silu(g, x); break;
      case 1: x = add(g, x, s); break;
      case 2: x = mul_(g, x, w); break;
      default: x = silu_(g, x); break;
    }
  }
  next();
  g.output("y", add(g, x, strand));
  g.output("z", permute(g, {.perm = {1, 0}}, strand));
  auto graph = g.finish();
  EXPECT_TRUE(graph.ok()) << graph.error().format();
  return {std::move(graph).value(), {{"x", values(rows * 16)}, {"s", values(rows * 16)}}};
}

}  // namespace chiaro::testing
