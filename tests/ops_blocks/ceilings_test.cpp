// The measured ceilings are plausible numbers; nothing is asserted about speed.
#include "ops/cpu_blocks/ceilings.h"

#include <gtest/gtest.h>

#include <cmath>

namespace chiaro {
namespace {

TEST(Ceilings, ArePositiveAndFinite) {
  ThreadPool pool(2);
  const double flops = measure_fma_peak_gflops(pool);
  const double bytes = measure_copy_bandwidth_gbs(pool);
  EXPECT_GT(flops, 0);
  EXPECT_TRUE(std::isfinite(flops));
  EXPECT_GT(bytes, 0);
  EXPECT_TRUE(std::isfinite(bytes));
}

}  // namespace
}  // namespace chiaro
