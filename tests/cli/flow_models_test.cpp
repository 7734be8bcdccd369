// Z-Image and Qwen-Image by the program alone: parts of random weights at full depth of every rule but small, from
// GGUF and safetensors, to a picture.
#include <gtest/gtest.h>

#include <filesystem>

#include "long_tests.h"
#include "program.h"

namespace chiaro::testing {
namespace {

using Words = std::vector<std::string>;

struct Model {
  const char* name;
  Words denoiser, text, vae;  // after "synth"
};

// Q4_K and Q8_0 where rows allow, as people have them.
std::vector<Model> models() {
  return {{"zimage",
           {"zimage", "d.gguf", "--type", "q4_K", "--layers", "2", "--width", "256", "--context-width", "128"},
           {"qwen3-4b", "t.gguf", "--type", "q8_0", "--layers", "2", "--width", "128", "--vocabulary", "300"},
           {"flux-vae", "v.safetensors", "--width", "32"}},
          {"qwen-image",
           {"qwen-image", "d.gguf", "--type", "q4_K", "--layers", "2", "--width", "256", "--context-width", "128"},
           {"qwen2.5-vl-7b", "t.gguf", "--type", "q8_0", "--layers", "2", "--width", "128", "--vocabulary", "300"},
           {"qwen-image-vae", "v.safetensors", "--width", "16"}}};
}

class FlowModels : public ::testing::TestWithParam<int> {
 protected:
  const Model model_ = models().at(static_cast<size_t>(GetParam()));
  const Folder folder_{"flow_models"};

  void SetUp() override {
    for (Words words : {model_.denoiser, model_.text, model_.vae}) {
      words.insert(words.begin(), "synth");
      const Outcome made = folder_.run(words);
      ASSERT_EQ(made.code, 0) << made.err;
    }
  }
  Outcome generate(Words more) const {
    Words words{"--diffusion-model",
                "d.gguf",
                "--llm",
                "t.gguf",
                "--vae",
                "v.safetensors",
                "-p",
                "a (red) hat",
                "-n",
                "blur",
                "-W",
                "32",
                "-H",
                "32",
                "--steps",
                "2",
                "--cfg-scale",
                "3"};
    words.insert(words.end(), more.begin(), more.end());
    return folder_.run(words);
  }
};

TEST_P(FlowModels, FromFilesToAPicture) {
  const Outcome first = generate({"-o", "a.png"});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.err.find("weights, escapes and BREAK are not read"), std::string::npos) << first.err;
  EXPECT_EQ(first.err.find("unused tensor"), std::string::npos) << first.err;
  ASSERT_EQ(generate({"-o", "b.png", "-t", "1"}).code, 0);
  EXPECT_EQ(folder_.run({"compare", "a.png", "b.png", "--min-psnr", "200"}).code, 0) << "not the same bytes";
  // The picture says which parts made it.
  const Outcome again = folder_.run({"--from", "a.png", "-o", "c.png"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(folder_.run({"compare", "a.png", "c.png", "--min-psnr", "200"}).code, 0);
  // Another prompt is another picture: the text is read.
  ASSERT_EQ(generate({"-o", "other.png", "-p", "two dogs"}).code, 0);
  EXPECT_NE(folder_.run({"compare", "a.png", "other.png", "--min-psnr", "90"}).code, 0);
  // Another transformer in place of the recorded one, which is not there any more; and another model in place of all.
  std::filesystem::rename(folder_ / "d.gguf", folder_ / "moved.gguf");
  const Outcome moved = folder_.run({"--from", "a.png", "--diffusion-model", "moved.gguf", "-o", "d.png"});
  ASSERT_EQ(moved.code, 0) << moved.err;
  EXPECT_EQ(folder_.run({"compare", "a.png", "d.png", "--min-psnr", "200"}).code, 0);
  const Outcome whole = folder_.run({"--from", "a.png", "-m", tiny_model().string(), "-o", "tiny.png"});
  EXPECT_EQ(whole.code, 0) << whole.err;
}

// The GPU's kernels for blocks on the software GPU: some ten seconds each, so in the full run alone. That of the
// networks is in tests/flow_models, in f32.
TEST_P(FlowModels, OnTheSoftwareGpu) {
  if (!long_tests()) GTEST_SKIP() << "in the full run: CHIARO_LONG=1";
  ASSERT_EQ(generate({"-o", "a.png"}).code, 0);
  const Outcome gpu = generate({"-o", "gpu.png", "--devices", "softgpu:apple7"});
  ASSERT_EQ(gpu.code, 0) << gpu.err;
  const Outcome near = folder_.run({"compare", "a.png", "gpu.png", "--min-psnr", "40"});
  EXPECT_EQ(near.code, 0) << near.out;
}

TEST_P(FlowModels, PartsThatAreMissingOrMixedUpAreNamed) {
  const auto refused = [&](const Words& words, const char* text) {
    const Outcome outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  };
  refused({"--diffusion-model", "d.gguf", "--vae", "v.safetensors", "-p", "x"}, "--llm");
  refused({"--diffusion-model", "d.gguf", "--llm", "t.gguf", "-p", "x"}, "--vae");
  refused({"--diffusion-model", "d.gguf", "--llm", "v.safetensors", "--vae", "v.safetensors", "-p", "x"},
          "holds no text encoder");
  refused({"--diffusion-model", "d.gguf", "--llm", "t.gguf", "--vae", "t.gguf", "-p", "x"}, "holds no autoencoder");
  // Said of the file that it is about, and of no other.
  refused({"--diffusion-model", "d.gguf", "--llm", "v.safetensors", "--vae", "v.safetensors", "-p", "x"},
          "\n  where v.safetensors\n");
  const char* other = GetParam() == 0 ? "qwen2.5-vl-7b" : "qwen3-4b";
  ASSERT_EQ(folder_.run({"synth", other, "o.gguf", "--layers", "2", "--width", "128", "--vocabulary", "300"}).code, 0);
  refused({"--diffusion-model", "d.gguf", "--llm", "o.gguf", "--vae", "v.safetensors", "-p", "x"},
          GetParam() == 0 ? "Qwen3 is read" : "Qwen2.5-VL is read");
}

// Given by the name that sd-cli had for the flag before.
TEST_P(FlowModels, AnEncoderOfAnotherWidthIsRefused) {
  const char* text = GetParam() == 0 ? "qwen3-4b" : "qwen2.5-vl-7b";
  ASSERT_EQ(folder_.run({"synth", text, "o.gguf", "--layers", "2", "--width", "256", "--vocabulary", "300"}).code, 0);
  const Outcome wide =
      folder_.run({"--diffusion-model", "d.gguf", "--qwen2vl", "o.gguf", "--vae", "v.safetensors", "-p", "x"});
  EXPECT_EQ(wide.code, 3);
  EXPECT_NE(wide.err.find("256 numbers a token"), std::string::npos) << wide.err;
}

TEST_P(FlowModels, SizesOfNothingAreNotThePublishedOnes) {
  const Outcome none = folder_.run({"synth", model_.denoiser.front(), "n.gguf", "--layers", "0"});
  EXPECT_EQ(none.code, 2) << none.err;
  // A size that a part does not have is refused as well.
  const std::string denoiser = model_.denoiser.front(), text = model_.text.front(), vae = model_.vae.front();
  for (const Words& wrong : {Words{denoiser, "--vocabulary"},
                             {text, "--context-width"},
                             {vae, "--layers"},
                             {vae, "--context-width"},
                             {vae, "--vocabulary"}}) {
    const Outcome outcome = folder_.run({"synth", wrong[0], "n.gguf", wrong[1], "2"});
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(wrong[0] + " has no " + wrong[1]), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "n.gguf"));
  }
}

TEST_P(FlowModels, InspectCallsThePartsByTheirNames) {
  const bool zimage = GetParam() == 0;
  EXPECT_NE(
      folder_.run({"inspect", "d.gguf"}).out.find(zimage ? "transformer of Z-Image" : "transformer of Qwen-Image"),
      std::string::npos);
  EXPECT_NE(folder_.run({"inspect", "t.gguf"}).out.find(zimage ? "text model of Qwen3" : "text model of Qwen2.5-VL"),
            std::string::npos);
  EXPECT_NE(folder_.run({"inspect", "v.safetensors"}).out.find(zimage ? "AutoencoderKL" : "Wan autoencoder"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Families, FlowModels, ::testing::Values(0, 1),
                         [](const auto& p) { return p.param == 0 ? "ZImage" : "QwenImage"; });

}  // namespace
}  // namespace chiaro::testing
