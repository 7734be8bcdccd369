// The whole catalogue on the CPU, op by op: every dtype, layout and batch, in poisoned memory, against the references.
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "ops/catalogue.h"
#include "runtime/conformance.h"

namespace chiaro {
namespace {

std::shared_ptr<Engine> poisoned_engine(int threads) {
  EngineOptions options;
  options.threads = threads;
  options.allocator = std::make_shared<CountingAllocator>(std::make_shared<SystemAllocator>(), true);
  auto engine = Engine::create(std::move(options));
  EXPECT_TRUE(engine.ok());
  return engine.ok() ? *engine : nullptr;
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    for (const int threads : {2, 1, 3}) engines().push_back(poisoned_engine(threads));
  }
  static void TearDownTestSuite() { engines().clear(); }
  static std::vector<std::shared_ptr<Engine>>& engines() {
    static std::vector<std::shared_ptr<Engine>> all;
    return all;
  }
};

TEST_P(Conformance, OnTheCpu) {
  ConformanceOptions options;
  options.ops = {GetParam()};
  options.same_bits = {engines()[1].get(), engines()[2].get()};
  const auto report = run_conformance(*engines()[0], "cpu", options);
  ASSERT_TRUE(report.ok()) << report.error().format();
  EXPECT_TRUE(report->passed()) << report->text();
  EXPECT_GT(report->variants(), 0);
  std::cout << report->text();
}

// In memory that is not the CPU's, each pointer checked: the way through upload, launch and download.
TEST(ConformanceIsolated, InMemoryOfItsOwn) {
  EngineOptions engine_options;
  engine_options.threads = 2;
  engine_options.devices = {"isolated:a"};
  const auto engine = Engine::create(std::move(engine_options)).value();
  ConformanceOptions options;
  options.ops = {"add_", "write", "permute", "concat", "group_norm", "rope_apply", "softmax"};
  const auto report = run_conformance(*engine, "isolated:a", options);
  ASSERT_TRUE(report.ok()) << report.error().format();
  EXPECT_TRUE(report->passed()) << report->text();
  EXPECT_GT(report->variants(), 1000);
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const OpDef* op : op_catalogue()) names.emplace_back(op->name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Ops, Conformance, testing::ValuesIn(op_names()), [](const auto& op) {
  std::string name = op.param;
  return name.back() == '_' ? name + "inplace" : name;
});

}  // namespace
}  // namespace chiaro
