// Z-Image and Qwen-Image as wide as they are published, with few layers, by the program alone: on the CPU, and on the
// software GPU against it. Hours and gigabytes, so in the full run alone; the narrow one of every commit is below.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "long_tests.h"
#include "program.h"

namespace chiaro::testing {
namespace {

using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

struct Published {
  std::string denoiser, text, vae;
  Words types;  // of the denoiser
};
const Published kZImage{"zimage", "qwen3-4b", "flux-vae", {"q4_K", "q8_0", "f16"}};
const Published kQwenImage{"qwen-image", "qwen2.5-vl-7b", "qwen-image-vae", {"q2_K", "q4_K", "q8_0"}};

class WideFlowModels : public ::testing::Test {
 protected:
  const Folder folder_{"wide_flow_models"};

  // Seconds; a failure where the program does not end well.
  double run(const Words& words, const char* what) const {
    const auto start = Clock::now();
    const Outcome outcome = folder_.run(words);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    EXPECT_EQ(outcome.code, 0) << what << ": " << outcome.err;
    return seconds;
  }
  void synth(const std::string& part, const std::string& file, const Words& sizes) const {
    Words words{"synth", part, file};
    words.insert(words.end(), sizes.begin(), sizes.end());
    run(words, part.c_str());
  }
  // A picture of "a red hat" in `out`, without guidance.
  double draw(const std::string& out, int side, int steps, const Words& more) const {
    Words words{"--diffusion-model", "d.gguf", "--llm",     "t.gguf", "--vae",
                "v.safetensors",     "-p",     "a red hat", "-o",     out};
    const Words sizes{"-W",      std::to_string(side),  "-H",          std::to_string(side),
                      "--steps", std::to_string(steps), "--cfg-scale", "1"};
    words.insert(words.end(), sizes.begin(), sizes.end());
    words.insert(words.end(), more.begin(), more.end());
    return run(words, out.c_str());
  }
  void expect_near(const char* a, const char* b, double db) const {
    const Outcome outcome = folder_.run({"compare", a, b, "--min-psnr", std::to_string(db)});
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    std::printf("    %s and %s: %s", a, b, outcome.out.substr(0, outcome.out.find('\n') + 1).c_str());
  }
  // Three steps on the CPU, twice with different threads; one step there and on the software GPU.
  void compare_devices(int side, double db, const char* gpu_device, const char* title) const {
    const double three = draw("three.png", side, 3, {}), again = draw("again.png", side, 3, {"-t", "1"});
    const double cpu = draw("cpu.png", side, 1, {});
    const double gpu = draw("gpu.png", side, 1, {"--devices", gpu_device});
    std::printf("  %s: three steps %.1f s, on one thread %.1f s; one step %.1f s, on the software GPU %.1f s\n", title,
                three, again, cpu, gpu);
    expect_near("three.png", "again.png", 200);
    expect_near("cpu.png", "gpu.png", db);
    // A denoiser that does nothing would agree as well.
    EXPECT_NE(folder_.run({"compare", "three.png", "cpu.png", "--min-psnr", "40"}).code, 0);
  }

  void full_width(const Published& model) const {
    if (!long_tests()) GTEST_SKIP() << "in the full run: CHIARO_LONG=1";
    synth(model.text, "t.gguf", {"--type", "q4_K", "--layers", "2"});
    synth(model.vae, "v.safetensors", {});
    for (const std::string& type : model.types) {
      synth(model.denoiser, "d.gguf", {"--type", type, "--layers", "2"});
      // Its checks are for kernels, and the narrow runs below have them: they take several times as long.
      compare_devices(64, 40, "softgpu:apple7,checks=off", (model.denoiser + " " + type).c_str());
      std::filesystem::remove(folder_ / "d.gguf");
    }
  }
};

TEST_F(WideFlowModels, ZImage) {
  full_width(kZImage);
}

TEST_F(WideFlowModels, QwenImage) {
  full_width(kQwenImage);
}

// Narrow, one layer: the GPU's kernels for these blocks, in every commit.
class NarrowFlowModels : public WideFlowModels {
 protected:
  void narrow(const Published& model, const std::string& type) const {
    synth(model.text, "t.gguf", {"--type", "q4_K", "--layers", "2", "--width", "256", "--vocabulary", "300"});
    synth(model.vae, "v.safetensors", {"--width", "32"});
    synth(model.denoiser, "d.gguf", {"--type", type, "--layers", "1", "--width", "256", "--context-width", "256"});
    compare_devices(16, 40, "softgpu:apple7", (model.denoiser + " " + type + ", narrow").c_str());
  }
};

TEST_F(NarrowFlowModels, ZImageQ4K) {
  narrow(kZImage, "q4_K");
}

TEST_F(NarrowFlowModels, QwenImageQ2K) {
  narrow(kQwenImage, "q2_K");
}

}  // namespace
}  // namespace chiaro::testing
