// Noise schedules that no picture can be made with are refused when the model is read.
#include <gtest/gtest.h>

#include "diffusion/schedule.h"

namespace chiaro {
namespace {

bool usable(double first, double last, int steps) {
  NoiseConfig config;
  config.beta_start = first;
  config.beta_end = last;
  config.train_steps = steps;
  config.scaled_linear = false;
  return NoiseSchedule::make(config).ok();
}

TEST(ScheduleLimits, TheProductOfTheAlphasMustNotVanish) {
  EXPECT_TRUE(usable(0.0001, 0.02, 1000));           // DDPM
  EXPECT_TRUE(usable(0.9, 0.9, 2));                  // sigma 9.95
  EXPECT_FALSE(usable(0.9, 0.99, 1000));             // the product underflows to 0: sigma would be infinite
  EXPECT_FALSE(usable(0.0001, 0.02, 1'000'000));     // many small steps do the same
  EXPECT_TRUE(usable(0.0000001, 0.00002, 1000000));  // but not these
}

}  // namespace
}  // namespace chiaro
