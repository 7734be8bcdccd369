// Networks with every 3x3 convolution by Winograd, also where it would not pay: as near to diffusers' numbers as its
// error allows.
#include <gtest/gtest.h>

#include "formula_weights.h"
#include "graph_runner.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "ops/conv2d/cpu.h"

namespace chiaro::models {
namespace {

using test::GoldenCase;
using test::relative_error;
using test::run_graph;

constexpr double kWinogradTolerance = 3e-4;

test::RunSettings winograd_everywhere() {
  KernelTable table = cpu_kernel_table();
  for (Kernels& kernels : table) {
    if (kernels.front().op == "conv2d") kernels = cpu_kernels_conv2d_winograd();
  }
  test::RunSettings settings;
  settings.cpu_kernels = std::make_shared<const KernelTable>(std::move(table));
  return settings;
}

class WinogradUnet : public ::testing::TestWithParam<const char*> {};

TEST_P(WinogradUnet, Output) {
  GoldenCase golden = GoldenCase::open("unet", GetParam());
  const auto config = read_unet_config(golden.config);
  ASSERT_TRUE(config.ok()) << config.error().format();
  const Shape sample = golden.shape("sample");
  const UnetRequest request = {.batch = sample[0],
                               .height = sample[2],
                               .width = sample[3],
                               .context_length = golden.shape("encoder_hidden_states")[1]};
  const auto graph = build_unet(*config, golden.weights, request);
  const test::Floats inputs = {{"sample", golden.floats("sample")},
                               {"timestep", golden.floats("timestep")},
                               {"context", golden.floats("encoder_hidden_states")}};
  const auto direct = run_graph(graph, inputs).at("out");
  const auto out = run_graph(graph, inputs, {}, winograd_everywhere()).at("out");
  EXPECT_LT(relative_error(out, golden.floats("output")), kWinogradTolerance);
  EXPECT_NE(out, direct) << "no convolution ran by Winograd";
}
INSTANTIATE_TEST_SUITE_P(Cases, WinogradUnet, ::testing::Values("tiny", "tiny_odd", "sd1_odd"));

TEST(WinogradVae, Decoded) {
  GoldenCase golden = GoldenCase::open("vae", "groups32");
  const auto config = read_vae_config(golden.config);
  ASSERT_TRUE(config.ok()) << config.error().format();
  const Shape shape = golden.shape("latent");
  const auto graph =
      build_vae_decoder(*config, golden.weights, {.batch = shape[0], .height = shape[2], .width = shape[3]});
  const auto out = run_graph(graph, {{"latents", golden.floats("latent")}}, {}, winograd_everywhere()).at("image");
  EXPECT_LT(relative_error(out, golden.floats("decoded")), kWinogradTolerance);
}

}  // namespace
}  // namespace chiaro::models
