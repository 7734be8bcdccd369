// Schedules of models that learnt the straight flow from pictures to noise: x = (1 - sigma) clean + sigma noise, and
// the network gives noise - clean. Lipman et al., arXiv:2210.02747; Liu et al., arXiv:2209.03003.
#pragma once

#include <cstdint>
#include <vector>

#include "chiaro/error.h"

namespace chiaro {

// What a flow-matching scheduler_config.json says.
struct FlowConfig {
  int train_steps = 1000;
  // sigma' = shift sigma / (1 + (shift - 1) sigma): more steps at high noise. Esser et al., arXiv:2403.03206,
  // sec. 5.3.2.
  double shift = 1;
  // Larger pictures need more: shift = exp(mu), mu linear in the tokens of a picture, through (base_tokens, base_shift)
  // and (most_tokens, most_shift). `shift` is then not used.
  bool dynamic = false;
  double base_shift = 0.5, most_shift = 1.15;
  int64_t base_tokens = 256, most_tokens = 4096;
  double terminal = 0;  // the last sigma before 0 is brought to it, and the others with it; 0: left as they are
  // The network counts time from noise (0) to picture (1), and gives clean - noise (Z-Image).
  bool reversed = false;
};

// The factor for pictures of `tokens` tokens.
double flow_shift(const FlowConfig& config, int64_t tokens);
// `steps` + 1 noise levels from 1 down to 0, shifted. `shift` is that of flow_shift.
std::vector<double> flow_sigmas(const FlowConfig& config, double shift, int steps);

// Errors: usage for settings that give no schedule.
Status check_flow(const FlowConfig& config);

}  // namespace chiaro
