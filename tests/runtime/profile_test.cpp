// The profile: every kernel and every copy, on the row of its device, at the time it ran.
#include "runtime/profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "devices.h"

namespace chiaro::testing {
namespace {

using Json = nlohmann::json;

TEST(Profile, HasEveryStepOfEveryQueue) {
  const std::vector<std::string> devices{"isolated:a", "cpu", "isolated:b"};
  const auto engine = engine_of({"isolated:a,delay=300us", "isolated:b"});
  const Chain made = chain(devices, 12);
  const auto plan = plan_on(*engine, made.graph);
  const auto executor = Executor::create(*engine, plan).value();
  for (const bool serial : {false, true}) {
    Profile profile;
    std::vector<StepTime> told;
    RunOptions options;
    options.serial = serial;
    const auto caller = std::this_thread::get_id();
    options.on_step = [&](const StepTime& t) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      told.push_back(t);
      profile.add(t, "sample");
    };
    ASSERT_TRUE(run(*executor, made.inputs, options).ok());
    EXPECT_EQ(told.size(), plan->steps.size());
    const Json trace = Json::parse(profile.json());
    std::map<int, std::string> rows;
    std::map<std::string, int> events;
    std::map<std::string, double> busy_until;
    int64_t copied = 0;
    for (const Json& event : trace.at("traceEvents")) {
      const int tid = event.at("tid").get<int>();
      if (event.at("ph") == "M") {
        rows[tid] = event.at("args").at("name").get<std::string>();
        continue;
      }
      ASSERT_EQ(event.at("ph"), "X");
      const std::string device = rows.at(tid);
      const double start = event.at("ts").get<double>(), length = event.at("dur").get<double>();
      EXPECT_GE(start + 1.0, busy_until[device]) << "a queue runs one after the other (in microseconds)";
      busy_until[device] = start + length;
      EXPECT_EQ(event.at("cat"), "sample");
      EXPECT_GT(event.at("args").at("bytes").get<int64_t>(), 0);
      if (event.at("args").at("op") == "copy") copied += event.at("args").at("bytes").get<int64_t>();
      ++events[device];
    }
    EXPECT_EQ(copied, plan->copied_bytes());
    std::map<std::string, int> planned;
    for (const PlanStep& step : plan->steps) {
      ++planned[plan->devices[static_cast<size_t>(step.device)]->traits().name];
    }
    EXPECT_EQ(events, planned);
  }
}

TEST(Profile, IsWholeWithAwkwardNamesAndIsSaved) {
  Profile profile;
  profile.add({"op", "label \"quoted\"\\ \x01 \xff", "kernel", 0.5, "isolated:\"x\"", {}, 7}, "");
  const auto path = std::filesystem::path(CHIARO_TMP_DIR) / "profile.json";
  ASSERT_TRUE(profile.save(path).ok());
  std::ifstream file(path);
  const Json trace = Json::parse(file);
  EXPECT_EQ(trace.at("traceEvents").size(), 2U);
  EXPECT_EQ(trace.at("traceEvents")[0].at("args").at("name"), "isolated:\"x\"");
  EXPECT_EQ(trace.at("traceEvents")[1].at("dur"), 500000.0);
  EXPECT_FALSE(profile.save(std::filesystem::path(CHIARO_TMP_DIR) / "no" / "such" / "folder.json").ok());
  EXPECT_EQ(Json::parse(Profile().json()).at("traceEvents").size(), 0U);
}

}  // namespace
}  // namespace chiaro::testing
