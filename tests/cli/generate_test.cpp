// Pictures from the command line: their names, their bytes, what is said about them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "pipeline/image/image_io.h"
#include "program.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using Words = std::vector<std::string>;

TEST(Generate, ThePathIsTheLastLineOfStdout) {
  const Folder folder("generate");
  const Outcome outcome = folder.run(quick());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "output.png\n");
  for (const char* part :
       {"time: load ", "encode ", "sample ", "decode ", "save ", "memory: ", "process ", "seed 42"}) {
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << "\n" << outcome.err;
  }
  const auto image = load_image(folder / "output.png");
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->width, 64);
  EXPECT_EQ(image->height, 64);
}

TEST(Generate, ABatchCountsUp) {
  const Folder folder("generate");
  const Outcome outcome = folder.run(quick({"-b", "3", "-o", "cat.png"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out_lines(), (Words{"cat.png", "cat_2.png", "cat_3.png"}));
  EXPECT_EQ(folder.names(), (Words{"cat.png", "cat_2.png", "cat_3.png"}));
  EXPECT_NE(read_file(folder / "cat.png"), read_file(folder / "cat_2.png"));
}

TEST(Generate, APatternNamesThePictures) {
  const Folder folder("generate");
  EXPECT_EQ(folder.run(quick({"-b", "2", "-o", "%03d 100%.png"})).out_lines(), (Words{"000 100%.png", "001 100%.png"}));
  EXPECT_EQ(folder.run(quick({"-b", "2", "-o", "a%d.PNG"})).out_lines(), (Words{"a0.PNG", "a1.PNG"}));
  EXPECT_EQ(folder.run(quick({"-o", "100%.png"})).out_lines(), (Words{"100%.png"}));
  EXPECT_EQ(folder.names().size(), 5u);
}

TEST(Generate, BatchSizeChangesNoByte) {
  const Folder folder("generate");
  ASSERT_EQ(folder.run(quick({"-b", "3", "-o", "a.png"})).code, 0);
  ASSERT_EQ(folder.run(quick({"-b", "3", "-o", "b.png", "--batch-size", "2", "-t", "1"})).code, 0);
  for (const char* end : {".png", "_2.png", "_3.png"}) {
    EXPECT_EQ(read_file(folder / (std::string("a") + end)), read_file(folder / (std::string("b") + end))) << end;
  }
}

TEST(Generate, AWeightCacheChangesNoByte) {
  const Folder folder("generate");
  ASSERT_EQ(folder.run(quick({"-o", "a.png"})).code, 0);
  for (const char* name : {"b.png", "c.png"}) {
    const Outcome outcome = folder.run(quick({"-o", name, "--weight-cache", "kept"}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find("weight cache"), std::string::npos) << outcome.err;
    EXPECT_EQ(read_file(folder / name), read_file(folder / "a.png")) << name;
  }
  EXPECT_FALSE(fs::is_empty(folder / "kept"));
  for (const auto& entry : fs::directory_iterator(folder / "kept")) fs::resize_file(entry.path(), 100);
  const Outcome damaged = folder.run(quick({"-o", "d.png", "--weight-cache", "kept"}));
  EXPECT_EQ(damaged.code, 0);
  EXPECT_NE(damaged.err.find("the weight cache "), std::string::npos) << damaged.err;
  EXPECT_EQ(read_file(folder / "d.png"), read_file(folder / "a.png"));
  const Outcome refused = folder.run(quick({"-o", "e.png", "--weight-cache", "a.png"}));
  EXPECT_EQ(refused.code, 0);
  EXPECT_NE(refused.err.find("are not kept in a.png"), std::string::npos) << refused.err;
  EXPECT_EQ(read_file(folder / "e.png"), read_file(folder / "a.png"));
}

TEST(Generate, FromRepeatsEveryByteAndFlagsOverride) {
  const Folder folder("generate");
  const Words words{"-p",
                    "a [blue] (cat:1.2), \"quoted\"\nnext line 猫",
                    "-n",
                    "{}",
                    "-W",
                    "72",
                    "-H",
                    "64",
                    "--steps",
                    "2",
                    "--cfg-scale",
                    "3.7",
                    "-s",
                    "-1",
                    "-b",
                    "2",
                    "--sampling-method",
                    "euler_a",
                    "--schedule",
                    "karras",
                    "--rng",
                    "cpu",
                    "--eta",
                    "0.5",
                    "--clip-skip",
                    "2",
                    "-o",
                    "a.png"};
  const Outcome first = folder.run(words);
  ASSERT_EQ(first.code, 0) << first.err;
  const Outcome again = folder.run({"--from", "a_2.png", "-o", "b.png"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_file(folder / "a_2.png"), read_file(folder / "b.png"));
  const Outcome other = folder.run({"--from", "a_2.png", "-o", "c.png", "--steps", "1"});
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.err.find("72x64, 1 steps of euler_a"), std::string::npos) << other.err;
  EXPECT_NE(read_file(folder / "a_2.png"), read_file(folder / "c.png"));
}

TEST(Generate, ThePromptIsTakenAsItIs) {
  const Folder folder("generate");
  for (const std::string prompt : {"[a, b]", "--vae", "{}", "", "-1", "a=b", "@file", "%%"}) {
    const Outcome outcome = folder.run({"-p", prompt, "-W", "64", "-H", "64", "--steps", "1"});
    ASSERT_EQ(outcome.code, 0) << prompt << "\n" << outcome.err;
    const auto text = read_png_text(folder / "output.png");
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(nlohmann::json::parse((*text)[1].second)["prompt"], prompt);
  }
}

TEST(Generate, ThePromptFromStandardInput) {
  const Folder folder("generate");
  const Outcome typed = folder.run(quick({"-o", "a.png"}));
  const Outcome piped = folder.run({"-p", "-", "-W", "64", "-H", "64", "--steps", "1", "-o", "b.png"}, "a red apple\n");
  ASSERT_EQ(typed.code + piped.code, 0) << piped.err;
  EXPECT_EQ(read_file(folder / "a.png"), read_file(folder / "b.png"));
}

TEST(Generate, TheLastOfTwoEqualFlagsCounts) {
  const Folder folder("generate");
  const Outcome outcome = folder.run(quick({"-W", "72", "-s", "5", "-s", "18446744073709551615"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("72x64"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("seed 18446744073709551615"), std::string::npos) << outcome.err;
}

TEST(Generate, ANegativeSeedIsRandom) {
  const Folder folder("generate");
  ASSERT_EQ(folder.run(quick({"-s", "-1", "-o", "a.png"})).code, 0);
  ASSERT_EQ(folder.run(quick({"-s", "-77", "-o", "b.png"})).code, 0);
  EXPECT_NE(read_file(folder / "a.png"), read_file(folder / "b.png"));
}

// A model, an output and a picture to repeat, each with letters that are not ASCII.
TEST(Generate, PathsThatAreNotAscii) {
  const Folder folder("тест 猫");
  fs::copy(tiny_model(), folder / "модель", fs::copy_options::recursive);
  const Outcome outcome = folder.run(quick({"-m", "модель", "-o", "картина é.png"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "картина é.png\n");
  const std::string whole = (folder / "猫.png").string();
  const Outcome again = folder.run({"--from", "картина é.png", "-o", whole});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, whole + "\n");
  EXPECT_EQ(read_file(folder / "картина é.png"), read_file(folder / "猫.png"));
  EXPECT_EQ(folder.run({"inspect", "модель"}).code, 0);
  EXPECT_EQ(folder.run({"compare", "猫.png", "картина é.png"}).out, "identical\n");
}

TEST(Generate, AProfileIsAChromeTrace) {
  const Folder folder("generate");
  ASSERT_EQ(folder.run(quick({"--profile", "run.json"})).code, 0);
  const auto trace = nlohmann::json::parse(read_file(folder / "run.json"));
  ASSERT_GT(trace["traceEvents"].size(), 100u);
  double last = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M") {
      EXPECT_EQ(event["args"]["name"], "cpu");
      continue;
    }
    EXPECT_EQ(event["ph"], "X");
    EXPECT_FALSE(event["args"]["kernel"].get<std::string>().empty());
    EXPECT_GE(event["dur"].get<double>(), 0);
    last = event["ts"].get<double>();
  }
  EXPECT_GT(last, 0);
}

TEST(Generate, VerboseSaysMore) {
  const Folder folder("generate");
  const size_t plain = folder.run(quick()).err.size();
  const Outcome info = folder.run(quick({"-v"}));
  const Outcome debug = folder.run(quick({"-vv"}));
  EXPECT_NE(info.err.find("info["), std::string::npos) << info.err;
  EXPECT_EQ(info.err.find("debug["), std::string::npos);
  EXPECT_NE(debug.err.find("debug["), std::string::npos);
  EXPECT_GT(info.err.size(), plain);
  EXPECT_EQ(debug.out, "output.png\n");
}

TEST(Generate, EngineSwitchesWork) {
  const Folder folder("generate");
  ASSERT_EQ(folder.run(quick({"-o", "a.png"})).code, 0);
  ASSERT_EQ(folder.run(quick({"-o", "b.png", "--no-fuse", "--strict", "--precision", "f32"})).code, 0);
  const Outcome outcome = folder.run({"compare", "a.png", "b.png", "--min-psnr", "40"});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
}

// Isolated devices run the CPU's kernels, so where the modules run changes no byte of the pixels.
TEST(Generate, PlacementChangesNoPixel) {
  const Folder folder("generate");
  ASSERT_EQ(folder.run(quick({"-o", "a.png"})).code, 0);
  const Words placements[] = {
      {"--backend", "te=cpu,diffusion=isolated:a,vae=cpu"},
      {"--devices", "isolated:a", "--clip-on-cpu", "--vae-on-cpu"},
      {"--backend", "diffusion=isolated:a&isolated:b"},
  };
  for (Words flags : placements) {
    flags.insert(flags.end(), {"-o", "b.png"});
    const Outcome outcome = folder.run(quick(flags));
    ASSERT_EQ(outcome.code, 0) << flags[1] << outcome.err;
    EXPECT_EQ(folder.run({"compare", "a.png", "b.png"}).out, "identical\n") << flags[1];
  }
}

// Case 19: an op that a device lacks moves its nodes, which is said once for each stage, with the bytes.
TEST(Generate, MovedNodesAreReportedOnceWithTheirBytes) {
  const Folder folder("generate");
  ASSERT_EQ(folder.run(quick({"-o", "a.png"})).code, 0);
  const Outcome outcome = folder.run(quick({"--devices", "isolated:a,no=group_norm", "--backend", "all=isolated:a",
                                            "--batch-count", "2", "--steps", "2", "-o", "b.png"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* stage : {"notice: sampling step: ", "notice: decoder: "}) {
    const size_t at = outcome.err.find(stage);
    ASSERT_NE(at, std::string::npos) << stage << outcome.err;
    EXPECT_EQ(outcome.err.find(stage, at + 1), std::string::npos) << "once: " << outcome.err;
    const std::string line = outcome.err.substr(at, outcome.err.find('\n', at) - at);
    EXPECT_NE(line.find(" moved to cpu: "), std::string::npos) << line;
    EXPECT_NE(line.find("group_norm"), std::string::npos) << line;
    EXPECT_NE(line.find(" copied per "), std::string::npos) << line;
  }
  EXPECT_EQ(outcome.err.find("text encoder: "), std::string::npos) << outcome.err;
}

// What a picture's bytes depend on beside its request is repeated with it.
TEST(Generate, FromRepeatsTheEnginesSettings) {
  const Folder folder("generate");
  const Words flags{"--no-fuse",      "--disable-op", "group_norm@isolated:a", "--devices",
                    "isolated:a,cpu", "--backend",    "diffusion=isolated:a",  "-o",
                    "a.png"};
  ASSERT_EQ(folder.run(quick(flags)).code, 0);
  const auto stored = nlohmann::json::parse((*read_png_text(folder / "a.png"))[1].second);
  EXPECT_EQ(stored["fuse"], false);
  EXPECT_EQ(stored["disabled_ops"], nlohmann::json::array({"group_norm@isolated:a"}));
  EXPECT_EQ(stored["devices"], "isolated:a,cpu");
  EXPECT_EQ(stored["backend"], "diffusion=isolated:a");
  const Outcome again = folder.run({"--from", "a.png", "-o", "b.png"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.err.find("sampling step: "), std::string::npos) << "moved as before: " << again.err;
  EXPECT_EQ(read_file(folder / "a.png"), read_file(folder / "b.png"));
  const Outcome other = folder.run({"--from", "a.png", "-o", "c.png", "--fuse", "--devices", "cpu", "--backend",
                                    "all=cpu", "--disable-op", "scale@cpu"});
  EXPECT_EQ(other.code, 3) << "scale has no other kernel: " << other.err;
  ASSERT_EQ(folder.run(quick({"-o", "d.png"})).code, 0);
  const auto plain = nlohmann::json::parse((*read_png_text(folder / "d.png"))[1].second);
  for (const char* key : {"fuse", "disabled_ops", "devices", "backend"}) EXPECT_FALSE(plain.contains(key)) << key;
}

}  // namespace
}  // namespace chiaro
