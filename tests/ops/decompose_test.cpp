// With an op's kernels disabled, the planner runs its decomposition: the suite must still pass.
#include <gtest/gtest.h>

#include "ops/catalogue.h"
#include "runtime/conformance.h"

namespace chiaro {
namespace {

TEST(Decompositions, RunWhereTheKernelIsDisabled) {
  int tried = 0;
  for (const OpDef* op : op_catalogue()) {
    if (op->decompose == nullptr) continue;
    ++tried;
    EngineOptions options;
    options.disabled_ops = {std::string(op->name)};
    const auto engine = Engine::create(std::move(options));
    ASSERT_TRUE(engine.ok());
    ConformanceOptions suite;
    suite.ops = {std::string(op->name)};
    const auto report = run_conformance(**engine, "cpu", suite);
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->passed()) << report->text();
    EXPECT_EQ(report->ops[0].ran, 0);
    EXPECT_GT(report->ops[0].copied, 0);
  }
  EXPECT_GT(tried, 0);
}

}  // namespace
}  // namespace chiaro
