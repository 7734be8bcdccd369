// `chiaro bench`.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "program.h"

namespace chiaro::testing {
namespace {

nlohmann::json report_of(const Folder& folder, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"bench", "-W", "64", "-H", "64", "--json", "r.json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = folder.run(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("multiply-add peak"), std::string::npos) << outcome.out;
  return nlohmann::json::parse(read_file(folder / "r.json"));
}

TEST(Bench, TimesTheStagesOfTheShippedModelAndItsOps) {
  const Folder folder("bench");
  const auto report = report_of(folder, {"--rounds", "2", "-t", "1"});
  EXPECT_EQ(report["threads"], 1);
  EXPECT_EQ(report["width"], 64);
  EXPECT_GT(report["peak_gflops"], 0.1);
  EXPECT_GT(report["copy_gbs"], 0.1);
  ASSERT_EQ(report["models"].size(), 1u);
  const auto& model = report["models"][0];
  ASSERT_EQ(model["stages"].size(), 3u);
  double flops = 0, roof = 0;
  for (const auto& stage : model["stages"]) {
    EXPECT_EQ(stage["seconds"].size(), 2u);
    EXPECT_GT(stage["median_seconds"], 0);
    EXPECT_GT(stage["flops"], 0);
    flops += stage["flops"].get<double>();
    roof += stage["roof_seconds"].get<double>();
  }
  double of_ops = 0, roof_of_ops = 0, last = INFINITY;
  for (const auto& op : model["ops"]) {
    of_ops += op["flops"].get<double>();
    roof_of_ops += op["roof_seconds"].get<double>();
    EXPECT_LE(op["seconds"], last);
    EXPECT_GE(op["launches"], 1);
    last = op["seconds"];
  }
  EXPECT_NEAR(of_ops, flops, flops * 1e-9);
  EXPECT_NEAR(roof_of_ops, roof, roof * 1e-9);
  // No kernel is faster than the later of the ceilings but where caches help; all together are not.
  EXPECT_LT(roof, 10 * (model["stages"][1]["median_seconds"].get<double>() +
                        model["stages"][2]["median_seconds"].get<double>()));
}

TEST(Bench, TimesAreOfOneStep) {
  const Folder folder("bench_steps");
  const auto one = report_of(folder, {"--rounds", "1"}), three = report_of(folder, {"--rounds", "1", "--steps", "3"});
  for (int stage = 0; stage < 3; ++stage) {
    const auto& a = one["models"][0]["stages"][static_cast<size_t>(stage)];
    const auto& b = three["models"][0]["stages"][static_cast<size_t>(stage)];
    // A sampler's first step has no step before it to read: a few sums per element of the latent.
    EXPECT_NEAR(a["flops"].get<double>(), b["flops"].get<double>(), 1e-4 * a["flops"].get<double>());
  }
}

TEST(Bench, SeveralModelsAreHeldAgainstTheFirst) {
  const Folder folder("bench_two");
  const auto report = report_of(folder, {"--rounds", "1", "--top", "0", "-m", tiny_model().string(), "-m", "tiny"});
  ASSERT_EQ(report["models"].size(), 2u);
  EXPECT_FALSE(report["models"][1].contains("ops"));
}

TEST(Bench, RefusesWhatItCannotTime) {
  const Folder folder("bench_wrong");
  const Outcome none = folder.run({"bench", "-m", "missing.safetensors"});
  EXPECT_NE(none.code, 0);
  EXPECT_NE(none.err.find("missing.safetensors"), std::string::npos) << none.err;
  EXPECT_EQ(folder.run({"bench", "--rounds", "0"}).code, 2);
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace chiaro::testing
