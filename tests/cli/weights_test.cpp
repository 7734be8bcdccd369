// Files of weights from the command line: what they are, parts and previews, folders converted.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pipeline/image/image_io.h"
#include "program.h"
#include "weights/gguf.h"
#include "weights/safetensors.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;
using namespace testing;

fs::path golden(const std::string& name) {
  return fs::path(CHIARO_SOURCE_DIR) / "tests/golden" / name;
}

std::string inspected(const Folder& folder, const fs::path& file) {
  const Outcome outcome = folder.run({"inspect", file.string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

void expect_says(const std::string& text, const std::vector<std::string>& pieces) {
  for (const std::string& piece : pieces) EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
}

std::vector<TensorDataPtr> one_tensor(const std::string& name) {
  return {make_tensor(name, DType::f32, {4}, std::vector<float>(4, 1.0F))};
}

TEST(InspectWeights, GgufAndItsMetadata) {
  const Folder folder("weights");
  expect_says(inspected(folder, golden("gguf/metadata.gguf")), {"GGUF version 3", "general.architecture"});
  expect_says(inspected(folder, golden("gguf/version2.gguf")), {"GGUF version 2", "odd", "an old version of GGUF: 2"});
  expect_says(inspected(folder, golden("gguf/aligned.gguf")), {"odd", "aligned to"});
  const auto json = nlohmann::json::parse(folder.run({"inspect", "--json", golden("gguf/metadata.gguf").string()}).out);
  EXPECT_FALSE(json.at("files").at(0).at("metadata").at("general.architecture").get<std::string>().empty());
}

TEST(InspectWeights, PyTorchAndWhatIsBesideItsTensors) {
  const Folder folder("weights");
  expect_says(inspected(folder, golden("torch/leftovers.zip.pt")), {"(PyTorch)", "odd", "an entry that is no tensor"});
  EXPECT_EQ(folder.run({"inspect", golden("torch/evil_system.zip.pt").string()}).code, 3);
}

TEST(InspectWeights, PartsAreCalledByTheirNames) {
  const Folder folder("weights");
  const fs::path vae = tiny_model() / "vae";
  expect_says(inspected(folder, vae), {"a part of a model: AutoencoderKL", "component"});
  expect_says(inspected(folder, vae / "diffusion_pytorch_model.safetensors"), {"AutoencoderKL", "(safetensors)"});
  ASSERT_EQ(folder.run({"synth", "taesd", "taesd.safetensors"}).code, 0);
  expect_says(inspected(folder, "taesd.safetensors"), {"TAESD (both halves, latents of 4 channels)", "2.45 M"});
  ASSERT_TRUE(save_safetensors(folder / "lora.safetensors", one_tensor("lora_unet_x.lora_down.weight")).ok());
  expect_says(inspected(folder, "lora.safetensors"), {"a LoRA"});
  GgufMetadata metadata;
  metadata.add("general.architecture", std::string("qwen3"));
  ASSERT_TRUE(save_gguf(folder / "llm.gguf", one_tensor("blk.0.attn_q.weight"), metadata).ok());
  expect_says(inspected(folder, "llm.gguf"), {"a language model (\"qwen3\")", "general.architecture: qwen3"});
  const auto json = nlohmann::json::parse(folder.run({"inspect", "--json", "taesd.safetensors"}).out);
  EXPECT_EQ(json.at("components").at(0).at("role"), "small decoder");
  EXPECT_EQ(json.at("components").at(0).at("parameters"), 1'222'532 + 1'222'531);
  EXPECT_TRUE(json.at("odd").empty());
  EXPECT_TRUE(json.at("unused").empty());
}

TEST(Previews, ChangeNoByteAndAreNeverHalfWritten) {
  const Folder folder("weights");
  const std::vector<std::string> request = quick({"--steps", "6", "--sampling-method", "euler_a"});
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = request;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  ASSERT_EQ(folder.run(with({"-o", "plain.png"})).code, 0);
  Running run(folder.path(), with({"-o", "shown.png", "--preview", "proj"}));
  int seen = 0;
  const auto look = [&] {
    if (!fs::exists(folder / "preview.png")) return;
    const auto image = load_image(folder / "preview.png");
    ASSERT_TRUE(image.ok()) << image.error().format();
    EXPECT_EQ(image->width, 64);
    EXPECT_EQ(image->height, 64);
    ++seen;
  };
  while (!run.finished()) look();
  ASSERT_EQ(run.wait().code, 0);
  look();
  EXPECT_GE(seen, 1);
  EXPECT_EQ(read_file(folder / "plain.png"), read_file(folder / "shown.png"));
  const std::string first = read_file(folder / "preview.png");
  ASSERT_EQ(folder.run(with({"--preview", "vae", "--preview-path", "v.png", "--preview-interval", "6"})).code, 0);
  // Of the last step: the finished picture, but for the text in the file.
  EXPECT_EQ(load_image(folder / "v.png")->rgb, load_image(folder / "plain.png")->rgb);
  EXPECT_NE(read_file(folder / "v.png"), first);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"output.png", "plain.png", "preview.png", "shown.png", "v.png"}));
}

TEST(Previews, WhatCannotBeIsRefusedBeforeTheWork) {
  const Folder folder("weights");
  for (const auto& [flags, piece] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--preview", "tae"}, "--taesd FILE"},
           {{"--preview", "sketch"}, "--preview"},
           {{"--preview", "proj", "--preview-path", "output.png"}, "same file"},
           {{"--preview", "proj", "--preview-path", "a.jpg"}, ".png"},
           {{"--preview", "proj", "--preview-path", "none/a.png"}, "none"},
           {{"--preview", "proj", "--preview-interval", "0"}, "--preview-interval"}}) {
    const Outcome outcome = folder.run(quick(flags));
    EXPECT_EQ(outcome.code, 2) << piece << outcome.err;
    EXPECT_NE(outcome.err.find(piece), std::string::npos) << outcome.err;
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(TaesdFlag, DecodesThePictureOrItsPreviewsAlone) {
  const Folder folder("weights");
  ASSERT_EQ(folder.run({"synth", "taesd", "taesd.safetensors"}).code, 0);
  ASSERT_EQ(folder.run({"synth", "taesd", "taesd.gguf", "--type", "q8_0"}).code, 0);
  ASSERT_EQ(folder.run(quick({"-o", "vae.png"})).code, 0);
  ASSERT_EQ(folder.run(quick({"-o", "small.png", "--taesd", "taesd.safetensors"})).code, 0);
  ASSERT_EQ(folder.run(quick({"-o", "gguf.png", "--tae", "taesd.gguf"})).code, 0);
  ASSERT_EQ(folder
                .run(quick({"-o", "both.png", "--taesd", "taesd.safetensors", "--taesd-preview-only", "--preview-noisy",
                            "--preview", "tae"}))
                .code,
            0);
  EXPECT_EQ(read_file(folder / "both.png"), read_file(folder / "vae.png"));
  EXPECT_NE(load_image(folder / "small.png")->rgb, load_image(folder / "vae.png")->rgb);
  EXPECT_EQ(load_image(folder / "preview.png")->rgb, load_image(folder / "small.png")->rgb);
  const Outcome wrong = folder.run(quick({"--taesd", (tiny_model() / "vae").string()}));
  EXPECT_EQ(wrong.code, 2) << wrong.err;
  expect_says(wrong.err, {"--taesd"});
}

// The files that took the place of the model's own are part of what a picture records.
TEST(Parts, AreRepeatedByFrom) {
  const Folder folder("weights");
  ASSERT_EQ(folder.run({"synth", "taesd", "taesd.safetensors"}).code, 0);
  ASSERT_EQ(folder
                .run(quick({"-o", "a.png", "--taesd", "taesd.safetensors", "--vae", (tiny_model() / "vae").string(),
                            "--prediction", "epsilon"}))
                .code,
            0);
  const Outcome again = folder.run({"--from", "a.png", "-o", "b.png"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_file(folder / "a.png"), read_file(folder / "b.png"));
  const auto stored = nlohmann::json::parse((*read_png_text(folder / "a.png"))[1].second);
  EXPECT_EQ(stored.at("parts").size(), 2u);
  EXPECT_EQ(stored.at("parts").at("taesd"), "taesd.safetensors");
  EXPECT_EQ(stored.at("prediction"), "epsilon");
  fs::remove(folder / "taesd.safetensors");
  const Outcome gone = folder.run({"--from", "a.png", "-o", "c.png"});
  EXPECT_NE(gone.code, 0);
  expect_says(gone.err, {"taesd.safetensors"});
  // A TAESD that makes previews alone changes no byte of the picture.
  ASSERT_EQ(folder.run({"synth", "taesd", "taesd.safetensors"}).code, 0);
  ASSERT_EQ(folder.run(quick({"-o", "d.png", "--taesd", "taesd.safetensors", "--taesd-preview-only"})).code, 0);
  EXPECT_FALSE(nlohmann::json::parse((*read_png_text(folder / "d.png"))[1].second).contains("parts"));
}

TEST(ConvertCommand, AFolderStaysAFolderThatMakesPictures) {
  const Folder folder("weights");
  const Outcome made = folder.run({"convert", "-m", tiny_model().string(), "-o", "q8", "--type", "q8_0"});
  ASSERT_EQ(made.code, 0) << made.err;
  expect_says(made.out, {"q8_0", "as asked", "f16"});
  const Outcome picture = folder.run(quick({"-m", "q8"}));
  ASSERT_EQ(picture.code, 0) << picture.err;
  // A part of it beside the whole folder takes its configuration from there.
  const Outcome part = folder.run(
      quick({"-m", tiny_model().string(), "--diffusion-model", "q8/unet/diffusion_pytorch_model.gguf", "-o", "p.png"}));
  ASSERT_EQ(part.code, 0) << part.err;
  const Outcome file = folder.run({"convert", "-m", tiny_model().string(), "-o", "tiny.gguf", "--type", "q8_0"});
  EXPECT_EQ(file.code, 3) << file.err;
  expect_says(file.err, {"cannot become a single file", "convert to a folder"});
  EXPECT_EQ(folder.run({"convert", "-m", tiny_model().string(), "-o", "q8"}).code, 2) << "it is there already";
}

}  // namespace
}  // namespace chiaro
