// The other commands: inspect, devices, ops.
#include <gtest/gtest.h>

#include <fstream>
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

TEST(Plan, AStageOfAModelAsTextJsonAndPicture) {
  const Folder folder("plan");
  const Outcome text = folder.run({"plan", "--stage", "decode", "-W", "64", "-H", "64", "--svg", "memory.svg"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_EQ(text.out.rfind("plan on cpu: ", 0), 0U) << text.out.substr(0, 200);
  EXPECT_NE(text.out.find("cpu.conv2d"), std::string::npos);
  EXPECT_NE(read_file(folder / "memory.svg").find("<svg"), std::string::npos);
  const Outcome json = folder.run({"plan", "--json", "-W", "64", "-H", "64"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_GT(nlohmann::json::parse(json.out)["steps"].size(), 100U);
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(Plan, AGraphInAFile) {
  const Folder folder("plan");
  write_file(folder / "good.graph",
             "%0 = input \"x\" : f32[1,4,4,8]\n%1 = group_norm(%0, _, _) {groups=4}\n"
             "%2 = silu_(%1)\noutput \"y\" %2\n");
  const Outcome good = folder.run({"plan", "good.graph"});
  ASSERT_EQ(good.code, 0) << good.err;
  EXPECT_NE(good.out.find(": 1 step in "), std::string::npos) << "fused: " << good.out;
  EXPECT_NE(folder.run({"plan", "good.graph", "--no-fuse"}).out.find(": 2 steps in "), std::string::npos);
  write_file(folder / "bad.graph", "%0 = input \"x\" : f32[1,4,4,8]\n%1 = group_norm(%0, _, _) {groups=3}\n");
  const Outcome bad = folder.run({"plan", "bad.graph"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_NE(bad.err.find("multiple of groups"), std::string::npos) << bad.err;
  EXPECT_NE(bad.err.find("line 2"), std::string::npos) << bad.err;
  EXPECT_EQ(folder.run({"plan", "none.graph"}).code, 3);
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
