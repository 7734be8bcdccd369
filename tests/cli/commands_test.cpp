// The other commands: inspect, devices, ops.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.h"

namespace chiaro {
namespace {

using namespace testing;

TEST(Inspect, AModel) {
  const Folder folder("inspect");
  const Outcome outcome = folder.run({"inspect", tiny_model().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part :
       {"diffusers folder", "text encoder", "diffusion (UNet)", "vae", "tensors", "f16", "256x256", "v_prediction"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
  EXPECT_EQ(folder.run({"inspect", "tiny"}).code, 0) << "a shipped model by its name";
}

TEST(Inspect, AModelAsJson) {
  const Folder folder("inspect");
  const Outcome outcome = folder.run({"inspect", "--json", tiny_model().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["components"].size(), 3u);
  for (const auto& part : json["components"]) {
    EXPECT_GT(part["parameters"].get<int64_t>(), 1000);
    int64_t tensors = 0;
    for (const auto& [name, count] : part["dtypes"].items()) tensors += count.get<int64_t>();
    EXPECT_EQ(tensors, part["tensors"].get<int64_t>());
  }
  EXPECT_TRUE(json["missing"].empty());
}

TEST(Inspect, APicture) {
  const Folder folder("inspect");
  ASSERT_EQ(folder.run(quick({"-s", "9"})).code, 0);
  const Outcome text = folder.run({"inspect", "output.png"});
  EXPECT_NE(text.out.find("picture 64x64"), std::string::npos);
  EXPECT_NE(text.out.find("[parameters]\na red apple\nSteps: 1, Sampler: "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("[chiaro]\n{"), std::string::npos);
  const auto json = nlohmann::json::parse(folder.run({"inspect", "--json", "output.png"}).out);
  EXPECT_EQ(json["width"], 64);
  EXPECT_EQ(json["text"]["chiaro"]["seed"], 9);
  EXPECT_EQ(json["text"]["chiaro"]["prompt"], "a red apple");
}

TEST(Devices, TheCpuIsThere) {
  const Outcome outcome = Folder("devices").run({"devices", "-t", "2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.substr(0, 4), "cpu\n");
  for (const char* part : {"threads   2", "vectors   ", "caches    ", "kernels   "}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  }
}

TEST(Ops, ListAndShow) {
  const Folder folder("ops");
  const Outcome list = folder.run({"ops", "list"});
  EXPECT_EQ(list.code, 0) << list.err;
  for (const char* op : {"group_norm", "conv2d", "mul_", "reshape"}) {
    EXPECT_NE(list.out.find(std::string(op) + " "), std::string::npos) << op;
  }
  const Outcome show = folder.run({"ops", "show", "group_norm"});
  EXPECT_EQ(show.code, 0) << show.err;
  EXPECT_NE(show.out.find("groups"), std::string::npos) << show.out;
  EXPECT_NE(folder.run({"ops", "list", "--markdown"}).out.find("| "), std::string::npos);
}

TEST(Ops, TestAndBench) {
  const Folder folder("ops");
  const Outcome test = folder.run({"ops", "test", "-d", "cpu", "-t", "1", "silu", "scale"});
  EXPECT_EQ(test.code, 0) << test.out << test.err;
  EXPECT_NE(test.out.find("silu"), std::string::npos) << test.out;
  const Outcome bench = folder.run({"ops", "bench", "-t", "1", "silu"});
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_NE(bench.out.find("silu"), std::string::npos) << bench.out;
}

}  // namespace
}  // namespace chiaro
