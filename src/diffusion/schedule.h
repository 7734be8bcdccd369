// Noise schedules: the training betas, and which noise levels a sampler visits.
//
// Sources: Ho et al. arXiv:2006.11239 (betas), Karras et al. arXiv:2206.00364 eq. 5 (Karras schedule),
// Lin et al. arXiv:2305.08891 (spacings).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "diffusion/flow.h"

namespace chiaro {

enum class Prediction { epsilon, v, flow };
enum class Spacing { leading, linspace, trailing };
enum class ScheduleKind { discrete, karras };

// What a diffusers scheduler_config.json says; the defaults are SD1.x's.
struct NoiseConfig {
  int train_steps = 1000;
  double beta_start = 0.00085, beta_end = 0.012;
  bool scaled_linear = true;  // betas linear in their square roots; false: linear
  Prediction prediction = Prediction::epsilon;
  // Of DDIM. The sigma samplers use trailing where it is asked for (SD-Turbo needs it) and else linspace, as
  // k-diffusion does.
  Spacing spacing = Spacing::leading;
  int steps_offset = 1;
  bool final_alpha_one = false;  // DDIM's "set_alpha_to_one"
  // The betas rescaled so that the last training step is noise alone ("rescale_betas_zero_snr"): Lin et al., algorithm
  // 1. Its alpha_bar is 0, and its sigma that of an alpha_bar of 2^-24, as diffusers has it.
  bool zero_terminal_snr = false;
};

// Thread rule: immutable after make.
class NoiseSchedule {
 public:
  // Errors: usage for betas outside (0, 1) or fewer than one step.
  static Result<NoiseSchedule> make(const NoiseConfig& config);
  // For pictures of `tokens` tokens, which decide about the shift where it is dynamic. Errors: usage (check_flow).
  static Result<NoiseSchedule> make(const FlowConfig& config, int64_t tokens);

  const NoiseConfig& config() const { return config_; }  // of a flow: the number of steps and the prediction
  const FlowConfig* flow() const { return flow_ ? &*flow_ : nullptr; }
  // Cumulative product of 1 - beta up to training step t. Not of a flow.
  double alpha_bar(int t) const { return alpha_bar_[static_cast<size_t>(t)]; }
  // sqrt((1 - alpha_bar) / alpha_bar), linear between training steps for a fractional t. Of a flow: t / train_steps.
  double sigma(double t) const;
  // The (fractional) training step of a noise level: linear in log sigma, clamped to the trained range.
  double timestep(double sigma) const;

  // Training steps in descending order, as diffusers' DDIM visits them. Errors: usage for steps outside [1,
  // train_steps].
  Result<std::vector<int>> timesteps(int steps) const;
  // `steps` + 1 noise levels in descending order, the last one 0. Errors: as above.
  Result<std::vector<double>> sigmas(ScheduleKind kind, int steps) const;
  // The logarithm of signal over noise at a noise level; infinite at noise alone.
  double log_snr(double sigma) const;
  // The training step the network is told at sigmas(kind, steps)[i]: exact where the schedule was cut by steps. Of a
  // flow: sigma itself, or 1 - sigma (FlowConfig::reversed).
  double step_time(ScheduleKind kind, int steps, size_t i, double sigma) const;

 private:
  Status check_steps(int steps) const;
  NoiseConfig config_;
  std::vector<double> alpha_bar_, sigma_;
  std::optional<FlowConfig> flow_;
  double shift_ = 1;
};

}  // namespace chiaro
