// `chiaro run`, and `chiaro plan` for several devices: the same hashes wherever the nodes run, and what is said of it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "program.h"

namespace chiaro {
namespace {

using namespace testing;
using Words = std::vector<std::string>;

// y = custom(x) runs on the host alone, z = mul_(y, w) writes into its memory.
constexpr const char* kWorked =
    "%0 = input \"x\" : f32[4,64]\n%1 = weight \"w\" : f32[64]\n"
    "%2 = custom(%0) {fn=\"twice\"}  # norm\n%3 = mul_(%2, %1)  # norm.affine\n%4 = silu(%3)  # act\n"
    "output \"z\" %3\noutput \"out\" %4\n";

// A residual block as models write it.
constexpr const char* kBlock =
    "%0 = input \"x\" : f32[1,8,8,16]\n%1 = weight \"norm.weight\" : f32[16]\n%2 = weight \"norm.bias\" : f32[16]\n"
    "%3 = weight \"conv.weight\" : f32[16,16,3,3]\n%4 = weight \"conv.bias\" : f32[16]\n"
    "%5 = group_norm(%0, _, _) {groups=4}  # norm\n%6 = mul_(%5, %1)  # norm\n%7 = add_(%6, %2)  # norm\n"
    "%8 = silu_(%7)  # act\n"
    "%9 = conv2d(%8, %3, %4) {pad_bottom=1, pad_left=1, pad_right=1, pad_top=1}  # conv\n"
    "%10 = add(%9, %0)  # residual\noutput \"y\" %10\n";

class RunGraph : public ::testing::Test {
 protected:
  RunGraph() : folder_("run") {
    write("worked.graph", kWorked);
    write("block.graph", kBlock);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  Outcome run(const Words& words) const { return folder_.run(words); }
  // What `run` prints for a graph with these flags.
  std::string result(const std::string& graph, const Words& flags = {}) const {
    Words words{"run", graph, "-t", "1"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = run(words);
    std::string line;
    for (const std::string& word : words) line += " " + word;
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.err;
    return outcome.out;
  }

  Folder folder_;
};

TEST_F(RunGraph, ALinePerOutput) {
  const std::string out = result("worked.graph");
  EXPECT_EQ(out.rfind("z  f32[4,64]  sha256 ", 0), 0U) << out;
  EXPECT_NE(out.find("\nout  f32[4,64]  sha256 "), std::string::npos) << out;
  for (const char* part : {"  min -", "  max ", "  mean "}) EXPECT_NE(out.find(part), std::string::npos) << out;
}

TEST_F(RunGraph, SeedAndNamesAloneDecide) {
  EXPECT_EQ(result("worked.graph"), result("worked.graph", {"--seed", "42"}));
  EXPECT_NE(result("worked.graph"), result("worked.graph", {"--seed", "43"}));
  std::string renamed = kWorked;
  renamed.replace(renamed.find("\"w\""), 3, "\"v\"");
  write("renamed.graph", renamed);
  EXPECT_NE(result("worked.graph"), result("renamed.graph"));
}

TEST_F(RunGraph, TheSameHashOnEveryPlacementAndThreadCount) {
  const Words placements[] = {
      {"-t", "3"},
      {"--devices", "isolated:a", "-t", "3"},
      {"--devices", "isolated:a,no=custom"},
      {"--devices", "isolated:a,no=group_norm"},
      {"--devices", "isolated:a,no=group_norm+silu_,cpu", "--serial"},
      {"--devices", "isolated:a,no=mul_+conv2d,isolated:b,no=group_norm,delay=1ms"},
      {"--devices", "cpu,isolated:a", "--disable-op", "mul_@cpu", "--disable-op", "silu@cpu"},
  };
  for (const char* graph : {"worked.graph", "block.graph"}) {
    for (const char* fuse : {"--fuse", "--no-fuse"}) {
      const std::string alone = result(graph, {fuse});
      for (Words flags : placements) {
        flags.emplace_back(fuse);
        EXPECT_EQ(result(graph, flags), alone) << graph << " " << fuse << " " << flags[1];
      }
    }
  }
}

TEST_F(RunGraph, MovedNodesAreReportedOnce) {
  const Outcome outcome = run({"run", "worked.graph", "--devices", "isolated:a,no=custom"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("notice: 2 nodes moved to cpu: custom (isolated:a "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("copied per run"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("moved to"), outcome.err.rfind("moved to")) << outcome.err;
  EXPECT_EQ(run({"run", "worked.graph"}).err, "");
}

TEST_F(RunGraph, ValuesThatAreNotFiniteAreFlagged) {
  write("bad.graph",
        "%0 = input \"x\" : f32[8]\n%1 = sub(%0, %0)\n%2 = div(%0, %1)\noutput \"y\" %2\noutput \"zero\" %1\n");
  const Outcome outcome = run({"run", "bad.graph"});
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_NE(outcome.out.find("NOT FINITE: 8 of 8 values"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("zero  f32[8]"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("8 values of the outputs are not finite"), std::string::npos) << outcome.err;
}

TEST_F(RunGraph, AProfileHasARowPerDevice) {
  ASSERT_NE(result("block.graph", {"--devices", "isolated:a,no=group_norm", "--profile", "run.json"}), "");
  const auto trace = nlohmann::json::parse(read_file(folder_ / "run.json"));
  std::vector<std::string> rows;
  int kernels = 0, copies = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M") rows.push_back(event["args"]["name"]);
    if (event["ph"] == "X") ++(event["args"]["op"] == "copy" ? copies : kernels);
  }
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(rows, (Words{"cpu", "isolated:a"}));
  EXPECT_GT(kernels, 1);
  EXPECT_GT(copies, 0);
}

TEST_F(RunGraph, MistakesAreNamed) {
  const std::pair<Words, std::pair<int, const char*>> cases[] = {
      {{"run"}, {2, "graph"}},
      {{"run", "none.graph"}, {3, "none.graph"}},
      {{"run", "worked.graph", "--devices", "tpu"}, {2, "there is no device \"tpu\""}},
      {{"run", "worked.graph", "--devices", "isolated:a,no=conv9d"}, {2, "conv9d"}},
      {{"run", "worked.graph", "--devices", "isolated:a,isolated:a"}, {2, "twice"}},
      {{"run", "worked.graph", "--devices", "cpu", "--backend", "isolated:b"}, {2, "the devices are cpu"}},
      {{"run", "worked.graph", "--backend", "unet=cpu"}, {2, "te, diffusion, vae, all"}},
      {{"run", "worked.graph", "--backend", "te="}, {2, "a device's name is missing"}},
      {{"run", "worked.graph", "--backend", "te=isolated:a", "--clip-on-cpu"}, {2, "placed on isolated:a already"}},
      {{"run", "worked.graph", "--skip", "knit"}, {2, "there is no pass \"knit\""}},
      {{"run", "worked.graph", "--profile", "no such folder/a.json"}, {2, "no such folder"}},
      {{"run", "worked.graph", "--devices", "isolated:a,budget=100", "--disable-op", "silu@cpu"}, {5, "isolated:a"}},
      {{"run", "worked.graph", "--disable-op", "silu"}, {3, "silu"}},
  };
  for (const auto& [words, expected] : cases) {
    const Outcome outcome = run(words);
    std::string line;
    for (const std::string& word : words) line += " " + word;
    EXPECT_EQ(outcome.code, expected.first) << line << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(expected.second), std::string::npos) << line << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << line;
  }
  write("thrice.graph", "%0 = input \"x\" : f32[4]\n%1 = custom(%0) {fn=\"thrice\"}\n");
  const Outcome unknown = run({"run", "thrice.graph"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_NE(unknown.err.find("identity, negate, twice, sum"), std::string::npos) << unknown.err;
}

TEST_F(RunGraph, APlanOfSeveralDevices) {
  const Outcome text = run({"plan", "worked.graph", "--devices", "isolated:a,no=custom", "--svg", "plan.svg"});
  ASSERT_EQ(text.code, 0) << text.err;
  for (const char* part :
       {"plan on isolated:a, cpu: 4 steps (3 kernels, 1 copy) in 2 segments", "device isolated:a  1 kernel, 1 copy",
        "device cpu         2 kernels, 0 copies", "moved  1 node of custom to cpu: isolated:a ",
        "moved  1 node of mul_ to cpu: its result lies in memory of cpu",
        "copied cpu -> isolated:a: 1.00 KiB in 1 copy", "segment 0 on cpu, 2 steps\n",
        "segment 1 on isolated:a, 2 steps, waits for 0\n", "# norm.affine"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }
  const std::string svg = read_file(folder_ / "plan.svg");
  for (const char* part : {">isolated:a<", ">cpu<", "Moved nodes", "copy from cpu to isolated:a", "was moved here"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  const auto json =
      nlohmann::json::parse(run({"plan", "worked.graph", "--json", "--devices", "isolated:a,no=custom"}).out);
  EXPECT_EQ(json["devices"][1]["name"], "cpu");
  EXPECT_EQ(json["moved"][1]["op"], "mul_");
  EXPECT_EQ(json["copied_bytes"], 1024);
  EXPECT_EQ(json["copies"][0]["to"]["device"], 0);
  EXPECT_EQ(json["segments"][1]["waits"], nlohmann::json::array({0}));
}

TEST_F(RunGraph, AModelsStagesFollowTheirPlacement) {
  const Words common{"plan", "-W", "64", "-H", "64", "--backend", "te=cpu,diffusion=isolated:a,vae=cpu", "--stage"};
  const std::pair<const char*, const char*> stages[] = {{"encode", "device isolated:a  0 kernels"},
                                                        {"sample", "device cpu         0 kernels"},
                                                        {"decode", "device isolated:a  0 kernels"}};
  for (const auto& [stage, idle] : stages) {
    Words words = common;
    words.emplace_back(stage);
    const Outcome outcome = run(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(idle), std::string::npos) << stage << "\n" << outcome.out.substr(0, 800);
  }
}

}  // namespace
}  // namespace chiaro
