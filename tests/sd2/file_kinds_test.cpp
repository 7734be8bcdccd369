// One model in every kind of file that docs/models.md lists, written by the packages that people's files come from
// (tests/golden/file_kinds): as folders and by the flags of parts, against diffusers' numbers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "chiaro/chiaro.h"
#include "golden_file.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

fs::path golden_folder() {
  return fs::path(CHIARO_SOURCE_DIR) / "tests/golden/file_kinds";
}

// A model folder whose networks are those of `kind`, and of safetensors where that kind has none.
std::string write_folder(const std::string& kind) {
  const fs::path out = fs::path(CHIARO_TMP_DIR) / "file_kinds" / kind;
  fs::remove_all(out);
  fs::create_directories(out);
  for (const char* part : {"text_encoder", "unet", "vae"}) {
    fs::create_directories(out / part);
    fs::copy(golden_folder() / "safetensors" / part / "config.json", out / part / "config.json");
    const fs::path own = golden_folder() / kind / part, source = golden_folder() / "safetensors" / part;
    for (const auto& file : fs::directory_iterator(fs::exists(own) ? own : source)) {
      const fs::path to = out / part / file.path().filename();
      if (!fs::exists(to)) fs::copy(file.path(), to);
    }
  }
  fs::copy(golden_folder() / "tokenizer", out / "tokenizer");
  fs::copy(golden_folder() / "scheduler", out / "scheduler");
  std::ofstream(out / "model_index.json") << R"({"_class_name": "StableDiffusionPipeline",
    "text_encoder": ["transformers", "CLIPTextModel"], "tokenizer": ["transformers", "CLIPTokenizer"],
    "unet": ["diffusers", "UNet2DConditionModel"], "vae": ["diffusers", "AutoencoderKL"],
    "scheduler": ["diffusers", "EulerDiscreteScheduler"]})";
  return out.string();
}

struct Made {
  std::vector<float> latents;
  std::vector<uint8_t> rgb;
};

Made make(LoadOptions options) {
  options.threads = 2;
  const auto session = Session::load(options);
  EXPECT_TRUE(session.ok()) << session.error().format();
  if (!session.ok()) return {};
  EXPECT_TRUE((*session)->info().unused.empty());
  GenerateRequest request;
  request.prompt = "a red apple";
  request.seed = 7;
  request.steps = 2;
  request.cfg_scale = 1;
  Made made;
  Callbacks callbacks;
  callbacks.on_latent = [&](const LatentView& v) {
    made.latents.assign(v.data, v.data + v.pictures * v.channels * v.height * v.width);
  };
  const auto result = (*session)->generate(request, callbacks);
  EXPECT_TRUE(result.ok()) << result.error().format();
  if (result.ok()) made.rgb = result->pictures.at(0).rgb;
  return made;
}

// Against diffusers; `within` of the largest latent, and as many steps of 8 bits in the picture.
void expect_reference(const Made& made, double within, double steps) {
  const auto io = open_golden("file_kinds/io.safetensors");
  const std::vector<float> latents = golden(io, "latents"), image = golden(io, "image");
  ASSERT_EQ(made.latents.size(), latents.size());
  EXPECT_LT(relative_error(made.latents, latents), within);
  ASSERT_EQ(made.rgb.size(), image.size());
  for (size_t c = 0; c < 3; ++c) {
    for (size_t p = 0; p < image.size() / 3; ++p) {
      ASSERT_NEAR(made.rgb[p * 3 + c], image[c * (image.size() / 3) + p] * 255, steps) << c << " " << p;
    }
  }
}

const Made& from_safetensors() {
  static const Made made = make({.model = write_folder("safetensors")});
  return made;
}

TEST(FileKinds, AFolderOfSafetensorsAgainstDiffusers) {
  expect_reference(from_safetensors(), 1e-4, 0.7);
}

// The same numbers in other files: the same bits.
class FileKindFolders : public ::testing::TestWithParam<const char*> {};
TEST_P(FileKindFolders, GiveTheSameBits) {
  const Made made = make({.model = write_folder(GetParam())});
  EXPECT_EQ(made.latents, from_safetensors().latents);
  EXPECT_EQ(made.rgb, from_safetensors().rgb);
}
INSTANTIATE_TEST_SUITE_P(Kinds, FileKindFolders,
                         ::testing::Values("safetensors_shards", "torch_zip", "torch_legacy", "torch_shards",
                                           "gguf_f16"));

TEST(FileKinds, AFolderOfQuantisedGgufIsNear) {
  const Made made = make({.model = write_folder("gguf_q8")});
  EXPECT_NE(made.latents, from_safetensors().latents) << "nothing was rounded";
  const std::vector<float> latents = golden(open_golden("file_kinds/io.safetensors"), "latents");
  EXPECT_LT(relative_error(made.latents, latents), 0.02);
}

struct Flagged {
  const char* kind;
  const char* unet;
  const char* vae;
  const char* text;
};

// Each part by its flag, beside a folder that has other weights for it.
class FileKindParts : public ::testing::TestWithParam<Flagged> {};
TEST_P(FileKindParts, TakeThePlaceOfTheFolders) {
  const Flagged& f = GetParam();
  const std::string base = write_folder("gguf_q8");
  const auto path = [&](const char* part, const char* file) {
    return file == nullptr ? std::string() : (golden_folder() / f.kind / part / file).string();
  };
  LoadOptions options;
  options.model = base;
  options.parts.diffusion_model = path("unet", f.unet);
  options.parts.vae = path("vae", f.vae);
  options.parts.clip_l = path("text_encoder", f.text);
  if (f.text == nullptr) options.parts.clip_l = path("../safetensors/text_encoder", "model.safetensors");
  const Made made = make(options);
  EXPECT_EQ(made.latents, from_safetensors().latents);
  EXPECT_EQ(made.rgb, from_safetensors().rgb);
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, FileKindParts,
    ::testing::Values(
        Flagged{"safetensors", "diffusion_pytorch_model.safetensors", "diffusion_pytorch_model.safetensors",
                "model.safetensors"},
        Flagged{"safetensors_shards", "diffusion_pytorch_model.safetensors.index.json", nullptr, nullptr},
        Flagged{"torch_zip", "diffusion_pytorch_model.bin", "diffusion_pytorch_model.bin", "pytorch_model.bin"},
        Flagged{"torch_legacy", "diffusion_pytorch_model.bin", "diffusion_pytorch_model.bin", "pytorch_model.bin"},
        Flagged{"torch_shards", "diffusion_pytorch_model.bin.index.json", nullptr, nullptr},
        Flagged{"gguf_f16", "diffusion_pytorch_model.gguf", "diffusion_pytorch_model.gguf", "model.gguf"}),
    [](const auto& one) { return std::string(one.param.kind); });

}  // namespace
}  // namespace chiaro::testing
