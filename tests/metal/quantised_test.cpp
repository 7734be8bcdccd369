// The shipped model with weights in fewer bits through the host of Metal: the CPU's picture of the same weights. With
// CHIARO_LONG, of every type that docs/quantisation.md has figures for, and with the checks inside kernels.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "chiaro/chiaro.h"
#include "narrowed_model.h"
#include "pipeline/image/compare.h"

namespace chiaro {
namespace {

Image picture_of(const std::string& model, const std::string& devices) {
  LoadOptions options;
  options.model = model;
  options.devices = devices;
  const auto session = Session::load(options);
  EXPECT_TRUE(session.ok()) << session.error().format();
  if (!session.ok()) return {};
  GenerateRequest request;
  request.prompt = "a red apple on a blue background";
  request.width = request.height = 64;
  request.steps = 2;
  auto result = (*session)->generate(request, {});
  EXPECT_TRUE(result.ok()) << result.error().format();
  if (!result.ok()) return {};
  EXPECT_TRUE(result->notices.empty()) << result->notices.front();  // nothing moved to the CPU
  Picture& picture = result->pictures.front();
  return {picture.width, picture.height, std::move(picture.rgb)};
}

TEST(MetalQuantised, WeightsInFewerBitsGiveTheCpusPicture) {
  const bool all = std::getenv("CHIARO_LONG") != nullptr;
  for (const DType type : {DType::q4_k, DType::q8_0, DType::q5_k, DType::f8_e4m3}) {
    if (type != DType::q4_k && !all) continue;
    const testing::NarrowedModel narrowed = testing::narrowed_model(type, "metal_narrowed");
    ASSERT_FALSE(narrowed.path.empty());
    const auto difference =
        compare_images(picture_of(narrowed.path, all ? "softmetal:apple7" : "softmetal:apple7,checks=off"),
                       picture_of(narrowed.path, ""));
    ASSERT_TRUE(difference.ok()) << difference.error().format();
    std::printf("%s, %d tensors: PSNR %.1f dB\n", std::string(dtype_name(type)).c_str(), narrowed.narrowed,
                difference->psnr);
    EXPECT_GE(difference->psnr, 50);
  }
}

}  // namespace
}  // namespace chiaro
