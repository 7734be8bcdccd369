// The benchmark's cases fit the ops as they are (nothing is timed here).
#include <gtest/gtest.h>

#include "ops/catalogue.h"
#include "runtime/ops_bench.h"

namespace chiaro {
namespace {

TEST(OpsBench, EveryCaseIsTakenByAKernel) {
  const auto engine = Engine::create();
  ASSERT_TRUE(engine.ok());
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    OpsBenchOptions options;
    options.dry = true;
    options.dtype = dtype;
    const auto bench = bench_ops(**engine, "cpu", options);
    ASSERT_TRUE(bench.ok());
    for (const OpTiming& t : bench->timings) EXPECT_EQ(t.error, "") << t.op << " " << t.what;
  }
}

TEST(OpsBench, EveryOpThatRunsHasACase) {
  const auto engine = Engine::create();
  ASSERT_TRUE(engine.ok());
  for (const OpDef* op : op_catalogue()) {
    if (op->kind == OpKind::view || op->name == "custom") continue;
    OpsBenchOptions options;
    options.dry = true;
    options.ops = {std::string(op->name)};
    const auto bench = bench_ops(**engine, "cpu", options);
    ASSERT_TRUE(bench.ok());
    EXPECT_FALSE(bench->timings.empty()) << op->name;
  }
}

TEST(OpsBench, PercentOfTheRoof) {
  OpsBench bench;
  bench.copy_gbs = 10;
  bench.peak_gflops = 100;
  OpTiming t;
  t.seconds = 1;
  t.bytes = 5e9;   // half a second of memory
  t.flops = 20e9;  // a fifth of a second of arithmetic
  EXPECT_DOUBLE_EQ(bench.roof_fraction(t), 0.5);
}

}  // namespace
}  // namespace chiaro
