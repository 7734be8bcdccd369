// Specs of isolated devices as text, and lists of devices.
#include "backend/isolated/spec.h"

#include <gtest/gtest.h>

#include "runtime/engine.h"

namespace chiaro {
namespace {

TEST(IsolatedSpec, EveryOptionIsRead) {
  const auto spec = parse_isolated_spec(
      "isolated:a,no=group_norm+conv2d:f16+matmul:strided+*:bf16:strided,budget=64M,delay=5ms,addresses=cpu+isolated:b,"
      "seed=9,fail=3");
  ASSERT_TRUE(spec.ok()) << spec.error().format();
  EXPECT_EQ(spec->name, "isolated:a");
  const std::vector<MaskEntry> mask{{"group_norm", std::nullopt, false},
                                    {"conv2d", DType::f16, false},
                                    {"matmul", std::nullopt, true},
                                    {"*", DType::bf16, true}};
  EXPECT_EQ(spec->mask, mask);
  EXPECT_EQ(mask.back().text(), "*:bf16:strided");
  EXPECT_EQ(spec->budget_bytes, 64 << 20);
  EXPECT_EQ(spec->copy_delay, std::chrono::milliseconds(5));
  EXPECT_EQ(spec->addresses, (std::vector<std::string>{"cpu", "isolated:b"}));
  EXPECT_EQ(spec->seed, 9U);
  EXPECT_EQ(spec->fail_at, 3);
  EXPECT_EQ(parse_isolated_spec("isolated:a,budget=512")->budget_bytes, 512);
  EXPECT_EQ(parse_isolated_spec("isolated:a,delay=200us")->copy_delay, std::chrono::microseconds(200));
}

TEST(IsolatedSpec, MistakesAreNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {"isolated:", "isolated:NAME"},
      {"isolated", "isolated:NAME"},
      {"isolated:a b", "isolated:NAME"},
      {"isolated:a,no", "there is no value"},
      {"isolated:a,no=", "there is no value"},
      {"isolated:a,", "there is no value"},
      {"isolated:a,no=conv3d", "conv3d"},
      {"isolated:a,no=conv2d:f12", "f12"},
      {"isolated:a,no=conv2d+", "there is no op \"\""},
      {"isolated:a,budget=-1", "-1"},
      {"isolated:a,budget=64X", "64X"},
      {"isolated:a,budget=99999999999999G", "99999999999999G"},
      {"isolated:a,budget=99999999999999999999", "99999999999999999999"},
      {"isolated:a,delay=5", "\"5\""},
      {"isolated:a,speed=5", "speed"},
  };
  for (const auto& [text, part] : wrong) {
    const auto refused = parse_isolated_spec(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::usage);
    EXPECT_NE(refused.error().format().find(part), std::string::npos) << text << "\n" << refused.error().format();
  }
}

TEST(IsolatedSpec, ListsAreSplitWhereADeviceBegins) {
  EXPECT_EQ(split_devices("cpu"), (std::vector<std::string>{"cpu"}));
  EXPECT_EQ(split_devices("isolated:a,budget=1M,addresses=isolated:b+cpu,cpu,isolated:b,delay=1ms"),
            (std::vector<std::string>{"isolated:a,budget=1M,addresses=isolated:b+cpu", "cpu", "isolated:b,delay=1ms"}));
  EXPECT_EQ(split_devices(""), (std::vector<std::string>{""}));
}

TEST(Engine, DevicesThatDoNotGoTogetherAreRefused) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"isolated:a", "isolated:a,budget=1M"}, "named twice"},
      {{"cpu", "cpu"}, "named twice"},
      {{"isolated:a,addresses=isolated:b"}, "isolated:b"},
      {{"cuda:0"}, "cuda:0"},
      {{"isolated:a,no=nothing"}, "nothing"},
  };
  for (const auto& [devices, part] : wrong) {
    EngineOptions options;
    options.threads = 1;
    options.devices = devices;
    const auto refused = Engine::create(std::move(options));
    ASSERT_FALSE(refused.ok()) << part;
    EXPECT_EQ(refused.error().code, ErrorCode::usage);
    EXPECT_NE(refused.error().format().find(part), std::string::npos) << refused.error().format();
  }
}

}  // namespace
}  // namespace chiaro
