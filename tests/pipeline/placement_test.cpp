// What users write about devices and placement, read.
#include "pipeline/placement.h"

#include <gtest/gtest.h>

namespace chiaro {
namespace {

using Names = std::vector<std::string>;

TEST(PlacementText, ModulesDevicesAndWeights) {
  const auto p = parse_placement("te=cpu,diffusion=isolated:a&isolated:b,weight:*.norm?.*=cpu,all=isolated:b");
  ASSERT_TRUE(p.ok()) << p.error().format();
  EXPECT_EQ(p->modules.at("te"), Names{"cpu"});
  EXPECT_EQ(p->modules.at("diffusion"), (Names{"isolated:a", "isolated:b"}));
  EXPECT_EQ(p->modules.at("all"), Names{"isolated:b"});
  EXPECT_EQ(p->modules.count("vae"), 0U);
  ASSERT_EQ(p->weights.size(), 1U);
  EXPECT_EQ(p->weights[0].first, "*.norm?.*");
  EXPECT_EQ(p->weights[0].second, "cpu");
  EXPECT_EQ(parse_placement("isolated:a")->modules.at("all"), Names{"isolated:a"});
  EXPECT_TRUE(parse_placement("")->modules.empty());
  EXPECT_TRUE(parse_placement("te=cpu,te=cpu").ok()) << "the same twice is no contradiction";
}

TEST(PlacementText, MistakesSayWhatMayStandThere) {
  const std::pair<const char*, const char*> cases[] = {
      {"unet=cpu", "te, diffusion, vae, all"},
      {"te=", "a device's name is missing"},
      {"te=cpu,", "a device's name is missing"},
      {"te=cpu&", "a device's name is missing"},
      {"te=cpu&cpu", "twice"},
      {"te=cpu,te=isolated:a", "te is placed on cpu already"},
      {"weight:=cpu", "weight:PATTERN"},
      {"weight:a=cpu&isolated:a", "weight:PATTERN"},
      {"=cpu", "there is no module \"\""},
  };
  for (const auto& [text, says] : cases) {
    const auto p = parse_placement(text);
    ASSERT_FALSE(p.ok()) << text;
    EXPECT_EQ(p.error().code, ErrorCode::usage) << text;
    EXPECT_NE(p.error().format().find(says), std::string::npos) << p.error().format();
  }
}

TEST(PlacementText, DevicesInTheirOrder) {
  EXPECT_EQ(choose_devices("", "")->specs, Names{"cpu"});
  EXPECT_EQ(choose_devices("isolated:a,budget=64M,isolated:b", "")->specs,
            (Names{"isolated:a,budget=64M", "isolated:b", "cpu"}));
  EXPECT_EQ(choose_devices("", "diffusion=isolated:b&isolated:a")->specs, (Names{"cpu", "isolated:b", "isolated:a"}));
  EXPECT_TRUE(choose_devices("isolated:a", "te=cpu").ok()) << "the CPU is always there";
  const auto missing = choose_devices("isolated:a,no=silu", "vae=isolated:b");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().what, "there is no device \"isolated:b\"");
  EXPECT_EQ(missing.error().why, "the devices are isolated:a, cpu");
}

}  // namespace
}  // namespace chiaro
