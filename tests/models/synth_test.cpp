// Checkpoints of random weights: the real names and shapes, loadable here, and with activations that stay finite.
#include "models/synth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "checkpoint_names.h"
#include "graph_runner.h"
#include "models/clip/model.h"
#include "models/manifest.h"
#include "models/stable_diffusion.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "weights/safetensors.h"

namespace chiaro::models {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> shapes_of(const std::vector<PlannedTensor>& tensors) {
  std::map<std::string, std::string> shapes;
  for (const PlannedTensor& t : tensors) {
    EXPECT_TRUE(shapes.emplace(t.name, t.desc.shape.text()).second) << t.name << " twice";
  }
  return shapes;
}

std::map<std::string, std::string> shapes_of(const test::NamedShapes& tensors) {
  std::map<std::string, std::string> shapes;
  for (const auto& [name, shape] : tensors) shapes.emplace(name, shape.text());
  return shapes;
}

using Shapes = std::map<std::string, std::string>;

void expect_same(const Shapes& written, const Shapes& published) {
  for (const auto& [name, shape] : written) {
    const auto at = published.find(name);
    EXPECT_EQ(at == published.end() ? "nothing" : at->second, shape) << name;
  }
  for (const auto& [name, shape] : published) EXPECT_EQ(written.count(name), 1u) << name;
}

// Against the names and shapes that diffusers converts (tests/golden/single_file).
TEST(Synth, NamesAndShapesArePublishedOnes) {
  const auto sd15 = synth_tensors(synth_spec(SynthModel::sd15), DType::f16);
  ASSERT_TRUE(sd15.ok()) << sd15.error().format();
  expect_same(shapes_of(*sd15), shapes_of(test::sd1_file()));
  const auto sd21 = synth_tensors(synth_spec(SynthModel::sd21), DType::f16);
  ASSERT_TRUE(sd21.ok()) << sd21.error().format();
  expect_same(shapes_of(*sd21), shapes_of(test::sd2_file()));
  const auto turbo = synth_tensors(synth_spec(SynthModel::sd_turbo), DType::f16);
  ASSERT_TRUE(turbo.ok()) << turbo.error().format();
  const auto expected = test::together({test::below("model.diffusion_model.", test::unet_file("sd21_names.json")),
                                        test::below("first_stage_model.", test::vae_file()),
                                        test::below("conditioner.embedders.0.model.", test::open_clip_file())});
  expect_same(shapes_of(*turbo), shapes_of(expected));
}

TEST(Synth, TypesOfTensors) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2}) {
    const auto tensors = synth_tensors(synth_spec(SynthModel::sd15), type);
    ASSERT_TRUE(tensors.ok());
    for (const PlannedTensor& t : *tensors) {
      const bool vector = t.desc.shape.rank() < 2;
      EXPECT_EQ(t.desc.dtype, vector && unit_bytes(type) == 1 ? DType::f16 : type) << t.name;
    }
  }
  EXPECT_EQ(synth_tensors(synth_spec(SynthModel::sd15), DType::q8_0).error().code, ErrorCode::usage);
  EXPECT_EQ(synth_tensors(synth_spec(SynthModel::sd15), DType::i8).error().code, ErrorCode::usage);
}

TEST(Synth, ValuesDependOnSeedNameAndPlaceAlone) {
  const PlannedTensor tensor{"a.weight", dense(DType::f32, {8, 4})};
  std::vector<float> whole(32), again(32);
  synth_values(tensor, 5, 0, 32, std::as_writable_bytes(std::span(whole)));
  for (int64_t i = 0; i < 32; i += 8) {
    synth_values(tensor, 5, i, 8, std::as_writable_bytes(std::span(again).subspan(static_cast<size_t>(i), 8)));
  }
  EXPECT_EQ(whole, again);
  synth_values(tensor, 6, 0, 32, std::as_writable_bytes(std::span(again)));
  EXPECT_NE(whole, again);
  synth_values({"b.weight", tensor.desc}, 5, 0, 32, std::as_writable_bytes(std::span(again)));
  EXPECT_NE(whole, again);
}

// A narrow model of SD 2.x's kind, or of SD 1.x's.
SynthSpec narrow(bool open_clip) {
  SynthSpec spec = synth_spec(open_clip ? SynthModel::sd_turbo : SynthModel::sd15);
  const int64_t width = open_clip ? 1024 : 768;  // by which a file's family is known
  spec.clip.layers = open_clip ? 2 : 12;
  spec.clip.vocabulary = 512;
  for (UnetLevel& level : spec.unet.levels) {
    level.channels = level.channels == 320 ? 32 : 64;
    level.heads = open_clip ? level.channels / 16 : 4;
    level.context = width;
  }
  spec.unet.time_dim = 4 * 32;
  spec.vae.channels = {32, 32, 32, 32};
  return spec;
}

class SynthFolder : public ::testing::Test {
 protected:
  fs::path fresh(const char* name) {
    const fs::path path = fs::path(CHIARO_TMP_DIR) / "synth" / name;
    fs::remove_all(path);
    fs::create_directories(path.parent_path());
    return path;
  }
  SynthRequest request(SynthSpec spec, fs::path out, DType type = DType::f16) {
    SynthRequest r;
    r.spec = std::move(spec);
    r.out = std::move(out);
    r.type = type;
    r.merges = fs::path(CHIARO_SOURCE_DIR) / "models/clip-vocab/merges.txt";
    return r;
  }
  static std::string bytes(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float v : values) most = std::max(most, std::abs(static_cast<double>(v)));
  return most;
}

TEST_F(SynthFolder, IsReadAndComputesFiniteNumbers) {
  const fs::path out = fresh("folder");
  int64_t last = 0, total = 0;
  SynthRequest r = request(narrow(true), out);
  r.on_progress = [&](int64_t done, int64_t all) {
    EXPECT_GT(done, last);
    last = done;
    total = all;
  };
  const auto report = synthesize(r);
  ASSERT_TRUE(report.ok()) << report.error().format();
  EXPECT_EQ(last, total);
  EXPECT_EQ(report->bytes, total);
  const auto source = open_model(out);
  ASSERT_TRUE(source.ok()) << source.error().format();
  const auto sd = find_stable_diffusion(*source);
  ASSERT_TRUE(sd.ok()) << sd.error().format();
  nn::MapSource clip(sd->clip.weights), unet(sd->unet.weights), vae(sd->vae.weights);
  test::Ints ids{{"ids", std::vector<int32_t>(77, 511)}};
  ids["ids"][0] = 510;
  const auto states = test::run_graph(build_clip_text(sd->clip.config, clip, {}), {}, ids).at("states");
  EXPECT_TRUE(all_finite(states));
  EXPECT_LT(largest(states), 100);
  std::vector<float> sample(4 * 8 * 8);
  for (size_t i = 0; i < sample.size(); ++i) sample[i] = static_cast<float>(std::sin(static_cast<double>(i * i)));
  const auto noise = test::run_graph(build_unet(sd->unet.config, unet, {.height = 8, .width = 8, .dtype = DType::f16}),
                                     {{"sample", sample}, {"timestep", {999}}, {"context", states}})
                         .at("out");
  EXPECT_TRUE(all_finite(noise));
  EXPECT_LT(largest(noise), 100);
  EXPECT_GT(largest(noise), 0.01);
  const auto image =
      test::run_graph(build_vae_decoder(sd->vae.config, vae, {.height = 8, .width = 8, .dtype = DType::f16}),
                      {{"latents", sample}})
          .at("image");
  EXPECT_TRUE(all_finite(image));
  EXPECT_LT(largest(image), 100);
  ASSERT_TRUE(build_vae_encoder(sd->vae.config, vae, {.height = 64, .width = 64}).ok());
  for (const auto& [name, component] : source->components) EXPECT_EQ(component.weights.report().text(), "") << name;
  EXPECT_EQ(synthesize(r).error().code, ErrorCode::usage) << "the folder is there already";
}

TEST_F(SynthFolder, SingleFilesAreReadWithNothingLeftOver) {
  for (const bool open_clip : {false, true}) {
    for (const DType type : {DType::f16, DType::f8_e4m3}) {
      const fs::path out = fresh("file.safetensors");
      SynthSpec spec = narrow(open_clip);
      spec.clip.inner_width = 64;
      const auto report = synthesize(request(spec, out, type));
      ASSERT_TRUE(report.ok()) << report.error().format();
      const auto file = SafetensorsFile::open(out);
      ASSERT_TRUE(file.ok()) << file.error().format();
      EXPECT_EQ(static_cast<int64_t>(file->tensors().size()), report->tensors);
      WeightMap map;
      ASSERT_TRUE(map.add(*file).ok());
      const FoundNetworks found = find_networks(map);
      ASSERT_TRUE(found.unet && found.vae && found.clip);
      EXPECT_EQ(family_of(found.unet->config), open_clip ? Family::sd2 : Family::sd1);
      EXPECT_EQ(has_turbo_names(found), open_clip);
    }
  }
}

TEST_F(SynthFolder, SameRequestSameBytes) {
  const fs::path a = fresh("a.safetensors"), b = fresh("b.safetensors"), c = fresh("c.safetensors");
  SynthSpec spec = narrow(false);
  spec.clip.layers = 1;
  ASSERT_TRUE(synthesize(request(spec, a)).ok());
  ASSERT_TRUE(synthesize(request(spec, b)).ok());
  SynthRequest other = request(spec, c);
  other.seed = 1;
  ASSERT_TRUE(synthesize(other).ok());
  EXPECT_EQ(bytes(a), bytes(b));
  EXPECT_NE(bytes(a), bytes(c));
}

TEST_F(SynthFolder, StoppedItLeavesNothing) {
  std::atomic<bool> cancel{true};
  for (const char* name : {"stopped.safetensors", "stopped"}) {
    const fs::path out = fresh(name);
    SynthRequest r = request(narrow(true), out);
    r.cancel = &cancel;
    const auto report = synthesize(r);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ErrorCode::cancelled);
    for (const auto& entry : fs::directory_iterator(out.parent_path())) {
      EXPECT_EQ(entry.path().filename().string().find("stopped"), std::string::npos) << entry.path();
    }
  }
}

}  // namespace
}  // namespace chiaro::models
