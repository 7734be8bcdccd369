// `chiaro selftest`.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "program.h"

namespace chiaro {
namespace {

using namespace testing;

TEST(SelfTestCommand, TheCpuPasses) {
  const Folder folder("selftest");
  const Outcome outcome = folder.run({"selftest"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out.rfind("self-test of cpu: ", 0), 0U) << outcome.out;
  EXPECT_NE(outcome.out.find(" 0 failed"), std::string::npos) << outcome.out;
}

TEST(SelfTestCommand, ASoftwareGpuAsJson) {
  const Folder folder("selftest_json");
  const Outcome outcome = folder.run({"selftest", "-d", "softgpu:apple5-vm,checks=off", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_TRUE(json["passed"].get<bool>());
  EXPECT_EQ(json["device"], "softgpu:apple5-vm");
  EXPECT_GE(json["checks"].get<int>(), 150);
  EXPECT_TRUE(json["failures"].empty());
  const auto& absent = json["not_here"];
  EXPECT_NE(std::find(absent.begin(), absent.end(), "custom"), absent.end()) << outcome.out;
}

TEST(SelfTestCommand, WithoutAnOp) {
  const Folder folder("selftest_without");
  const Outcome outcome = folder.run({"selftest", "--json", "--disable-op", "silu@cpu"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("\"silu\""), std::string::npos) << outcome.out;
}

TEST(SelfTestCommand, WrongRequests) {
  const Folder folder("selftest_wrong");
  for (const auto& arguments : {std::vector<std::string>{"selftest", "-d", "metal7"},
                                {"selftest", "--disable-op", "no_such_op"},
                                {"selftest", "--quickly"}}) {
    const Outcome outcome = folder.run(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(outcome.out.empty()) << outcome.out;
  }
}

}  // namespace
}  // namespace chiaro
