// Weights of block types in whole plans: where they lie in a file (at any byte), copied to another device's memory, and
// as a view of some of their rows.
#include <gtest/gtest.h>

#include <cmath>

#include "core/block_formats.h"
#include "graph/builder.h"
#include "ops/conformance/reference_eval.h"
#include "ops/matmul/op.h"
#include "ops/slice/op.h"
#include "plan/plan.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

// [8, 512], `lead` bytes behind an aligned place.
TensorDataPtr block_weight(DType dtype, size_t lead) {
  std::vector<float> values(8 * 512);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101) / 64.0f - 0.75f;
  auto weight = std::make_shared<TensorData>();
  weight->name = "w";
  weight->desc = dense(dtype, {8, 512});
  auto bytes = std::make_shared<std::vector<std::byte>>(lead + static_cast<size_t>(weight->desc.dense_bytes()));
  encode_blocks(dtype, values.data(), 8 * 512, bytes->data() + lead);
  weight->bytes = bytes->data() + lead;
  weight->owner = bytes;
  return weight;
}

TEST(BlockWeights, APlanGivesWhatTheOracleSaysOnEveryDevice) {
  EngineOptions options;
  options.threads = 2;
  options.isolated = {{.name = "isolated:a"}};
  const auto engine = Engine::create(std::move(options)).value();
  ASSERT_EQ(engine->devices().size(), 2U);
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const size_t lead : {size_t{0}, size_t{1}}) {
      if (!is_block(dtype)) continue;
      GraphBuilder g;
      const Value w = g.weight(block_weight(dtype, lead));
      g.output("y", matmul(g, g.input("x", dense(DType::f32, {3, 512})), slice(g, {.axis = 0, .start = 2}, w)));
      const Graph graph = g.finish().value();
      std::vector<float> x(3 * 512), y(3 * 6);
      for (size_t j = 0; j < x.size(); ++j) x[j] = static_cast<float>(j * 29 % 67) / 32.0f - 1.0f;
      const auto reference =
          evaluate_reference(graph, std::vector<ReferenceInput>{{"x", std::vector<double>(x.begin(), x.end())}});
      ASSERT_TRUE(reference.ok()) << reference.error().format();
      for (size_t d = 0; d < 2; ++d) {
        auto plan = make_plan(graph, engine->devices().subspan(d, 1));
        ASSERT_TRUE(plan.ok()) << plan.error().format();
        auto executor = Executor::create(*engine, *plan);
        ASSERT_TRUE(executor.ok()) << executor.error().format();
        const Binding in[] = {bind_port("x", std::span(x))}, out[] = {bind_port("y", std::span(y))};
        const Status ran = (*executor)->run(in, out);
        ASSERT_TRUE(ran.ok()) << ran.error().format();
        for (size_t j = 0; j < y.size(); ++j) {
          EXPECT_NEAR(y[j], reference->back().data[j], 1e-3) << dtype_name(dtype) << " device " << d << " at " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace chiaro
