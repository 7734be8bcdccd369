// The three networks of the shipped model, with their trained half-precision weights, against diffusers' numbers
// (tests/golden/tiny/README.md, which also has the limits).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "graph_runner.h"
#include "models/clip/model.h"
#include "models/stable_diffusion.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "weights/safetensors.h"

namespace chiaro::models {
namespace {

using test::run_graph;

class Shipped : public ::testing::Test {
 protected:
  static std::string path(const char* below) { return std::string(CHIARO_SOURCE_DIR) + "/" + below; }

  void SetUp() override {
    auto source = open_model(path("models/tiny"));
    ASSERT_TRUE(source.ok()) << source.error().format();
    auto model = find_stable_diffusion(*source);
    ASSERT_TRUE(model.ok()) << model.error().format();
    model_ = std::make_unique<StableDiffusion>(std::move(model).value());
  }
  // Rows first .. end-1 of a golden tensor, as f32.
  static std::vector<float> rows(const char* file, const char* name, int64_t first, int64_t end) {
    const auto golden = SafetensorsFile::open(path("tests/golden/tiny/") + file);
    EXPECT_TRUE(golden.ok()) << golden.error().format();
    const TensorDataPtr tensor = golden->find(name);
    EXPECT_NE(tensor, nullptr) << name;
    const int64_t row = tensor->desc.count() / tensor->desc.shape[0];
    std::vector<float> values;
    for (int64_t i = first * row; i < end * row; ++i) {
      values.push_back(static_cast<float>(load_element(tensor->desc.dtype, tensor->bytes, i)));
    }
    return values;
  }
  static std::vector<float> all(const char* name) {
    const auto golden = SafetensorsFile::open(path("tests/golden/tiny/reference.safetensors"));
    return rows("reference.safetensors", name, 0, golden->find(name)->desc.shape[0]);
  }
  static double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    EXPECT_EQ(a.size(), b.size());
    double largest = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
      largest = std::isfinite(d) ? std::max(largest, d) : INFINITY;
    }
    return largest;
  }

  std::unique_ptr<StableDiffusion> model_;
};

TEST_F(Shipped, TextEncoder) {
  nn::MapSource weights(model_->clip.weights);
  std::vector<int32_t> ids;
  for (const float id : all("input_ids")) ids.push_back(static_cast<int32_t>(id));
  const auto out = run_graph(build_clip_text(model_->clip.config, weights, {.batch = 5}), {}, {{"ids", ids}});
  EXPECT_LT(largest_difference(out.at("states"), all("embeds")), 5e-5);
  EXPECT_EQ(model_->clip.weights.report().text(), "");
}

TEST_F(Shipped, UnetOnTheStartNoise) {
  nn::MapSource weights(model_->unet.weights);
  const UnetRequest request{.batch = 4, .height = 32, .width = 32};
  const auto graph = build_unet(model_->unet.config, weights, request);
  std::vector<float> noise;
  for (int64_t n = 0; n < 4; ++n) {  // [prompt, step, ...] at step 0
    const auto trail = rows("ddim20.safetensors", "latents", n, n + 1);
    noise.insert(noise.end(), trail.begin(), trail.begin() + static_cast<std::ptrdiff_t>(trail.size() / 21));
  }
  const std::vector<float> time(4, 951.0f), conditions = rows("reference.safetensors", "embeds", 1, 5);
  const auto conditioned = run_graph(graph, {{"sample", noise}, {"timestep", time}, {"context", conditions}});
  EXPECT_LT(largest_difference(conditioned.at("out"), all("unet_first_cond")), 1e-4);
  std::vector<float> empty;
  for (int n = 0; n < 4; ++n) {
    const auto row = rows("reference.safetensors", "embeds", 0, 1);
    empty.insert(empty.end(), row.begin(), row.end());
  }
  const auto plain = run_graph(graph, {{"sample", noise}, {"timestep", time}, {"context", empty}});
  EXPECT_LT(largest_difference(plain.at("out"), all("unet_first_uncond")), 1e-4);
  EXPECT_EQ(model_->unet.weights.report().text(), "");
}

TEST_F(Shipped, AutoencoderThereAndBack) {
  nn::MapSource weights(model_->vae.weights);
  const VaeConfig& config = model_->vae.config;
  const auto trail = rows("ddim20.safetensors", "latents", 0, 1);
  std::vector<float> latents(trail.end() - static_cast<std::ptrdiff_t>(trail.size() / 21), trail.end());
  for (float& z : latents) z /= static_cast<float>(config.scaling_factor);
  const auto graph = build_vae_decoder(config, weights, {.height = 32, .width = 32});
  std::vector<float> image = run_graph(graph, {{"latents", latents}}).at("image");
  std::vector<float> picture;
  for (const float v : image) picture.push_back(std::clamp(v / 2 + 0.5f, 0.0f, 1.0f));
  EXPECT_LT(largest_difference(picture, all("image0")), 5e-4);  // half precision rounds by 2.5e-4

  for (size_t i = 0; i < image.size(); ++i) image[i] = 2 * picture[i] - 1;
  const VaeRequest request{.height = 256, .width = 256};
  auto moments = run_graph(build_vae_encoder(config, weights, request), {{"image", image}}).at("moments");
  std::vector<float> expected = all("encode0_mean");
  const auto logvar = all("encode0_logvar");
  expected.insert(expected.end(), logvar.begin(), logvar.end());
  EXPECT_LT(test::relative_error(moments, expected), 1e-4);
  EXPECT_EQ(model_->vae.weights.report().text(), "");
}

}  // namespace
}  // namespace chiaro::models
