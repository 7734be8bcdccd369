// Wrong usage: exit code 2, a message that names the flag, and no picture.
#include <gtest/gtest.h>

#include <fstream>

#include "program.h"

namespace chiaro {
namespace {

using namespace testing;
using Words = std::vector<std::string>;

struct Wrong {
  Words words;
  std::string says;
};

TEST(Usage, MistakesAreNamed) {
  const Folder folder("usage");
  const Wrong cases[] = {
      {{}, "nothing to do"},
      {{"generate"}, "no prompt"},
      {{"a", "cat"}, "no command \"a\""},
      {{"--colour"}, "--colour"},
      {{"-p"}, "-p"},
      {quick({"--unknown-flag"}), "--unknown-flag"},
      {quick({"surplus"}), "surplus"},
      {quick({"-s", "abc"}), "\"abc\" is not a seed"},
      {quick({"-s", "18446744073709551616"}), "is not a seed"},
      {quick({"-s", "1.5"}), "is not a seed"},
      {quick({"-s", ""}), "is not a seed"},
      {quick({"--steps", "many"}), "--steps"},
      {quick({"--steps", "0"}), "steps"},
      {quick({"-W", "0x"}), "--width"},
      {quick({"-W", "-64"}), "-64x64"},
      {quick({"-H", "99999999999999"}), "--height"},
      {quick({"-b", "0"}), "0 pictures"},
      {quick({"--cfg-scale", "nan"}), "guidance"},
      {quick({"-t", "-3"}), "--threads"},
      {quick({"--sampling-method", "guess"}), "guess"},
      {quick({"--scheduler", "guess"}), "guess"},
      {quick({"--precision", "f12"}), "f12"},
      {quick({"--disable-op", "conv9d"}), "conv9d"},
      {quick({"--devices", "abacus"}), "there is no device \"abacus\""},
      {quick({"--devices", "isolated:a,speed=9"}), "speed"},
      {quick({"--backend", "unet=cpu"}), "te, diffusion, vae, all"},
      {quick({"--backend", "diffusion=cpu&cpu"}), "twice"},
      {quick({"--devices", "cpu", "--backend", "vae=isolated:a"}), "the devices are cpu"},
      {quick({"--backend", "te=isolated:a", "--clip-on-cpu"}), "te is placed on isolated:a already"},
      {quick({"--disable-op", "silu@abacus"}), "abacus"},
      {quick({"-M", "vid_gen"}), "vid_gen"},
      {quick({"-M", "convert"}), "convert"},
      {quick({"-o", "picture.jpg"}), "ends in .png"},
      {quick({"-o", ".png"}), "ends in .png"},
      {quick({"-o", ""}), "ends in .png"},
      {quick({"-o", "no such folder/a.png"}), "no such folder"},
      {quick({"--profile", "no such folder/a.json"}), "no such folder"},
      {{"inspect"}, "file"},
      {{"compare", "one.png"}, "b"},
      {{"ops"}, "subcommand"},
      {{"ops", "show", "conv9d"}, "conv9d"},
      {{"ops", "test", "-d", "abacus", "add"}, "abacus"},
  };
  for (const Wrong& wrong : cases) {
    std::string line;
    for (const std::string& word : wrong.words) line += " " + word;
    const Outcome outcome = folder.run(wrong.words);
    EXPECT_EQ(outcome.code, 2) << line << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find("error[usage]"), std::string::npos) << line << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(wrong.says), std::string::npos) << line << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << line;
  }
  EXPECT_EQ(folder.names(), Words{});
}

TEST(Usage, AFolderThatMayNotBeWrittenTo) {
  if (!std::filesystem::exists("/proc/self")) GTEST_SKIP() << "no /proc here";
  const Outcome outcome = Folder("usage").run(quick({"-o", "/proc/a.png"}));
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("/proc/a.png"), std::string::npos) << outcome.err;
}

TEST(Usage, FlagsOfFeaturesThatAreMissingSayWhatToDoInstead) {
  const Folder folder("usage");
  for (const char* flag : {"--lora-model-dir", "--control-net", "--init-img", "--mask", "--strength", "--upscale-model",
                           "--embd-dir", "--cache-mode"}) {
    const Outcome outcome = folder.run(quick({flag, "1"}));
    EXPECT_EQ(outcome.code, 2) << flag;
    EXPECT_NE(outcome.err.find(std::string(flag) + " is not supported yet\n  mend  "), std::string::npos)
        << outcome.err;
  }
  EXPECT_NE(folder.run(quick({"-i", "a.png"})).err.find("--init-img is not supported yet"), std::string::npos);
}

TEST(Usage, PartsOfAModelAreReadOrRefusedByTheirFlag) {
  const Folder folder("usage");
  const std::string vae = std::string(CHIARO_SOURCE_DIR) + "/models/tiny/vae";
  const Outcome same = folder.run(quick({"--vae", vae, "-o", "parts.png"}));
  EXPECT_EQ(same.code, 0) << same.err;
  for (const char* flag : {"--clip_g", "--t5xxl", "--llm"}) {
    const Outcome outcome = folder.run(quick({flag, vae}));
    EXPECT_NE(outcome.code, 0) << flag;
    EXPECT_NE(outcome.err.find(flag), std::string::npos) << outcome.err;
  }
  const Outcome missing = folder.run(quick({"--diffusion-model", "no such file"}));
  EXPECT_EQ(missing.code, 3) << missing.err;
  EXPECT_NE(missing.err.find("diffusion_model"), std::string::npos) << missing.err;
  const Outcome guess = folder.run(quick({"--prediction", "x"}));
  EXPECT_NE(guess.err.find("there is no prediction \"x\""), std::string::npos) << guess.err;
}

TEST(Usage, FlagsThatHaveNoEffectAreAcceptedAndNamed) {
  const Folder folder("usage");
  const Words flags{"--diffusion-fa",
                    "--diffusion-conv-direct",
                    "--vae-conv-direct",
                    "--offload-to-cpu",
                    "--control-net-cpu",
                    "--mmap",
                    "--color",
                    "--type",
                    "f16",
                    "--force-sdxl-vae-conv-scale",
                    "--guidance",
                    "3.5"};
  Words words = quick(flags);
  words.insert(words.end(), {"-M", "img_gen"});
  const Outcome outcome = folder.run(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const std::string& flag : flags) {
    if (!flag.starts_with("--")) continue;  // a value
    const size_t at = outcome.err.find("notice: " + flag + " has no effect: ");
    ASSERT_NE(at, std::string::npos) << flag << "\n" << outcome.err;
    EXPECT_EQ(outcome.err.find(flag + " has no effect", at + 10), std::string::npos) << "twice: " << flag;
  }
}

TEST(Usage, HelpAndVersion) {
  const Folder folder("usage");
  for (const Words& words :
       {Words{"--help"}, Words{"-h"}, Words{"generate", "--help"}, Words{"-v", "--help"}, Words{"inspect", "--help"},
        Words{"compare", "--help"}, Words{"devices", "--help"}, Words{"ops", "--help"}, Words{"ops", "list", "--help"},
        Words{"plan", "--help"}, Words{"run", "--help"}, Words{"ops", "show", "--help"}, Words{"ops", "test", "--help"},
        Words{"ops", "bench", "--help"}}) {
    const Outcome outcome = folder.run(words);
    EXPECT_EQ(outcome.code, 0) << words[0] << outcome.err;
    EXPECT_EQ(outcome.err, "") << words[0];
    EXPECT_NE(outcome.out.find("Examples:\n  chiaro"), std::string::npos) << words[0] << "\n" << outcome.out;
  }
  const std::string help = folder.run({"generate", "--help"}).out;
  for (const char* flag : {"-m,--model",
                           "-p,--prompt",
                           "-n,--negative-prompt",
                           "-o,--output",
                           "-W,--width",
                           "-H,--height",
                           "--steps",
                           "--cfg-scale",
                           "-s,--seed",
                           "-b,--batch-count",
                           "--batch-size",
                           "--sampling-method",
                           "--schedule,--scheduler",
                           "--rng",
                           "--eta",
                           "--clip-skip",
                           "-t,--threads",
                           "-v,--verbose",
                           "--precision",
                           "--strict",
                           "--disable-op",
                           "--no-fuse",
                           "--devices",
                           "--backend",
                           "--clip-on-cpu",
                           "--vae-on-cpu",
                           "--vae-tiling",
                           "--vae-tile-size",
                           "--vae-tile-overlap",
                           "--profile",
                           "--from",
                           "-M,--mode",
                           "Exit codes:"}) {
    EXPECT_NE(help.find(flag), std::string::npos) << flag;
  }
  const Outcome version = folder.run({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out.substr(0, 7), "chiaro ");
}

}  // namespace
}  // namespace chiaro
