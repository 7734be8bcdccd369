// The shipped model with weights in fewer bits through the host of Metal: the CPU's picture of the same weights. With
// CHIARO_LONG, of every type that docs/quantisation.md has figures for, and with the checks inside kernels.
#include <gtest/gtest.h>

#include "long_tests.h"
#include "narrowed_model.h"
#include "shipped_model.h"

namespace chiaro::testing {
namespace {

TEST(MetalQuantised, WeightsInFewerBitsGiveTheCpusPicture) {
  const std::string device = long_tests() ? "softmetal:apple7" : "softmetal:apple7,checks=off";
  const int steps = long_tests() ? 2 : 1;
  for (const DType type : {DType::q4_k, DType::q8_0, DType::q5_k, DType::f8_e4m3}) {
    if (type != DType::q4_k && !long_tests()) continue;
    const NarrowedModel narrowed = narrowed_model(type, "metal_narrowed");
    ASSERT_FALSE(narrowed.path.empty());
    expect_the_cpus_picture_of(narrowed.path, device, steps,
                               std::string(dtype_name(type)) + ", " + std::to_string(narrowed.narrowed) + " tensors");
  }
}

}  // namespace
}  // namespace chiaro::testing
