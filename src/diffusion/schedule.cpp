#include "diffusion/schedule.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace chiaro {
namespace {

// Schedules in use end at 14.6 (Stable Diffusion) to 157 (DDPM); far above, the latents leave the range of f16 and f32.
constexpr double kMostSigma = 1e6;
constexpr double kLeastAlphaBar = 0x1p-24;  // where it is rescaled to 0: else sigma would be infinite

// sqrt(alpha_bar) shifted so that the last is 0, then stretched so that the first is as it was. Needs two or more.
void rescale_to_zero_snr(std::vector<double>& alpha_bar) {
  const double first = std::sqrt(alpha_bar.front()), last = std::sqrt(alpha_bar.back());
  for (double& value : alpha_bar) {
    const double root = first > last ? (std::sqrt(value) - last) * first / (first - last) : 0.0;
    value = root * root;
  }
}

}  // namespace

Result<NoiseSchedule> NoiseSchedule::make(const NoiseConfig& config) {
  const auto refused = [&] {
    return Error{ErrorCode::usage, "the noise schedule is not usable",
                 "betas " + std::to_string(config.beta_start) + " to " + std::to_string(config.beta_end) + " over " +
                     std::to_string(config.train_steps) + " steps",
                 "0 < beta_start <= beta_end < 1 is needed, and noise of at most 1e6 deviations at the last step; "
                 "check scheduler_config.json",
                 ""};
  };
  if (config.train_steps < 1 || config.train_steps > 1'000'000 || !(config.beta_start > 0) || !(config.beta_end < 1) ||
      !(config.beta_start <= config.beta_end)) {
    return refused();
  }
  NoiseSchedule s;
  s.config_ = config;
  if (config.zero_terminal_snr && config.train_steps < 2) return refused();
  const double first = config.scaled_linear ? std::sqrt(config.beta_start) : config.beta_start;
  const double last = config.scaled_linear ? std::sqrt(config.beta_end) : config.beta_end;
  double product = 1;
  for (int t = 0; t < config.train_steps; ++t) {
    const double share = config.train_steps > 1 ? static_cast<double>(t) / (config.train_steps - 1) : 0.0;
    const double value = first + (last - first) * share;
    product *= 1.0 - (config.scaled_linear ? value * value : value);
    s.alpha_bar_.push_back(product);
  }
  if (config.zero_terminal_snr) rescale_to_zero_snr(s.alpha_bar_);
  for (const double alpha_bar : s.alpha_bar_) {
    const double kept = config.zero_terminal_snr ? std::max(alpha_bar, kLeastAlphaBar) : alpha_bar;
    s.sigma_.push_back(std::sqrt((1.0 - kept) / kept));
    if (!(s.sigma_.back() <= kMostSigma)) return refused();
  }
  return s;
}

Result<NoiseSchedule> NoiseSchedule::make(const FlowConfig& config, int64_t tokens) {
  CHIARO_TRY(check_flow(config));
  NoiseSchedule s;
  s.config_.train_steps = config.train_steps;
  s.config_.prediction = Prediction::flow;
  s.flow_ = config;
  s.shift_ = flow_shift(config, tokens);
  return s;
}

double NoiseSchedule::log_snr(double sigma) const {
  return flow_ ? std::log1p(-sigma) - std::log(sigma) : -std::log(sigma);
}

double NoiseSchedule::sigma(double t) const {
  if (flow_) return std::clamp(t / config_.train_steps, 0.0, 1.0);
  const double clamped = std::clamp(t, 0.0, static_cast<double>(config_.train_steps - 1));
  const auto low = static_cast<size_t>(clamped);
  const size_t high = std::min(low + 1, sigma_.size() - 1);
  return sigma_[low] + (sigma_[high] - sigma_[low]) * (clamped - static_cast<double>(low));
}

double NoiseSchedule::timestep(double sigma) const {
  if (flow_) return sigma * config_.train_steps;
  if (sigma <= sigma_.front()) return 0;
  if (sigma >= sigma_.back()) return static_cast<double>(config_.train_steps - 1);
  const auto above = std::upper_bound(sigma_.begin(), sigma_.end(), sigma);
  const auto high = static_cast<size_t>(above - sigma_.begin());
  const double a = std::log(sigma_[high - 1]), b = std::log(sigma_[high]);
  return static_cast<double>(high - 1) + (std::log(sigma) - a) / (b - a);
}

Status NoiseSchedule::check_steps(int steps) const {
  if (steps >= 1 && steps <= config_.train_steps) return {};
  return Error{ErrorCode::usage, "cannot sample in " + std::to_string(steps) + " steps",
               "the model was trained on " + std::to_string(config_.train_steps) + " noise levels",
               "use --steps between 1 and " + std::to_string(config_.train_steps), ""};
}

Result<std::vector<int>> NoiseSchedule::timesteps(int steps) const {
  CHIARO_TRY(check_steps(steps));
  const int train = config_.train_steps;
  std::vector<int> out;
  for (int i = steps - 1; i >= 0; --i) {
    double t = 0;
    switch (config_.spacing) {
      case Spacing::leading: t = static_cast<double>(i) * (train / steps) + config_.steps_offset; break;
      case Spacing::linspace: t = steps > 1 ? static_cast<double>(i) * (train - 1) / (steps - 1) : 0.0; break;
      case Spacing::trailing: t = std::nearbyint(static_cast<double>(train) * (i + 1) / steps) - 1; break;
    }
    out.push_back(std::clamp(static_cast<int>(std::nearbyint(t)), 0, train - 1));
  }
  return out;
}

Result<std::vector<double>> NoiseSchedule::sigmas(ScheduleKind kind, int steps) const {
  CHIARO_TRY(check_steps(steps));
  if (flow_) return flow_sigmas(*flow_, shift_, steps);
  constexpr double kRho = 7.0;
  const double most = sigma_.back(), least = sigma_.front();
  std::vector<double> out;
  if (kind == ScheduleKind::discrete && config_.spacing == Spacing::trailing) {
    CHIARO_ASSIGN(const auto visited, timesteps(steps));
    for (const int t : visited) out.push_back(sigma_[static_cast<size_t>(t)]);
    out.push_back(0.0);
    return out;
  }
  for (int i = 0; i < steps; ++i) {
    const double share = steps > 1 ? static_cast<double>(i) / (steps - 1) : 0.0;
    if (kind == ScheduleKind::discrete) {
      out.push_back(sigma((config_.train_steps - 1) * (1.0 - share)));
    } else {
      const double high = std::pow(most, 1 / kRho), low = std::pow(least, 1 / kRho);
      out.push_back(std::pow(high + share * (low - high), kRho));
    }
  }
  out.push_back(0.0);
  return out;
}

double NoiseSchedule::step_time(ScheduleKind kind, int steps, size_t i, double sigma) const {
  if (flow_) return flow_->reversed ? 1 - sigma : sigma;
  if (kind == ScheduleKind::karras) return timestep(sigma);
  if (config_.spacing == Spacing::trailing) return timestep(sigma);
  const double share = steps > 1 ? static_cast<double>(i) / (steps - 1) : 0.0;
  return (config_.train_steps - 1) * (1.0 - share);
}

}  // namespace chiaro
