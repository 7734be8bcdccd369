#include "diffusion/flow.h"

#include <cmath>
#include <string>

namespace chiaro {
namespace {

constexpr double kMostShift = 1000;  // in use are 1 to 12; far above, every step is at full noise

// Lengthens or shortens the way from 1 so that the last level is `terminal`.
void stretch(std::vector<double>& sigmas, double terminal) {
  const double way = 1 - sigmas.back();
  if (!(way > 0)) return;  // a single step, at full noise
  for (double& sigma : sigmas) sigma = 1 - (1 - sigma) * (1 - terminal) / way;
}

}  // namespace

double flow_shift(const FlowConfig& config, int64_t tokens) {
  if (!config.dynamic) return config.shift;
  const double slope =
      (config.most_shift - config.base_shift) / static_cast<double>(config.most_tokens - config.base_tokens);
  return std::exp(config.base_shift + slope * static_cast<double>(tokens - config.base_tokens));
}

std::vector<double> flow_sigmas(const FlowConfig& config, double shift, int steps) {
  std::vector<double> sigmas;
  for (int i = 0; i < steps; ++i) {
    const double even = 1 - static_cast<double>(i) / steps;
    sigmas.push_back(shift * even / (1 + (shift - 1) * even));
  }
  if (config.terminal > 0) stretch(sigmas, config.terminal);
  sigmas.push_back(0);
  return sigmas;
}

Status check_flow(const FlowConfig& c) {
  const bool tokens = c.base_tokens >= 0 && c.most_tokens > c.base_tokens;
  const bool curve = !c.dynamic || (tokens && std::isfinite(c.base_shift) && std::isfinite(c.most_shift));
  if (c.train_steps >= 1 && c.train_steps <= 1'000'000 && c.shift > 0 && c.shift <= kMostShift && curve &&
      c.terminal >= 0 && c.terminal < 1) {
    return {};
  }
  return Error{ErrorCode::usage, "the flow's schedule is not usable",
               "shift " + std::to_string(c.shift) + ", terminal " + std::to_string(c.terminal) + ", " +
                   std::to_string(c.base_tokens) + " to " + std::to_string(c.most_tokens) + " tokens",
               "a shift above 0 and at most 1000 is needed (--flow-shift 3 is usual), and a terminal from 0 to 1", ""};
}

}  // namespace chiaro
