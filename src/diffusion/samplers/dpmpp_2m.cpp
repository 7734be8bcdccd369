// DPM-Solver++(2M): second order from the denoised latent of the step before. The first step and the last (to sigma 0)
// are first order. Source: Lu et al., arXiv:2211.01095 algorithm 2, with lambda = log(signal / noise); for a
// flow too, whose data prediction moves by 1 - next / now as well.
#include <cmath>

#include "diffusion/sampler.h"

namespace chiaro {
namespace {

Result<SamplerRun> plan(const NoiseSchedule& noise, const SamplerRequest& request) {
  CHIARO_ASSIGN(const auto sigmas, noise.sigmas(request.schedule, request.steps));
  SamplerRun run;
  run.initial_scale = sigmas.front();
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) {
    const double now = sigmas[i], next = sigmas[i + 1];
    SamplerStep step;
    step.timestep = noise.step_time(request.schedule, request.steps, i, now);
    set_sigma_preconditioning(step, noise, now);
    step.keep = next / now;
    step.move = 1 - step.keep;
    if (i > 0 && next > 0) {
      const double h = noise.log_snr(next) - noise.log_snr(now);
      const double h_before = noise.log_snr(now) - noise.log_snr(sigmas[i - 1]);  // infinite from a flow's start
      const double share = h / (2 * h_before);                                    // 1 / (2 r)
      step.history = -step.move * share;
      step.move *= 1 + share;
    }
    run.steps.push_back(step);
  }
  return run;
}

}  // namespace

const Sampler& dpmpp_2m_sampler() {
  static const Sampler sampler{.name = "dpm++2m", .plan = plan};
  return sampler;
}

}  // namespace chiaro
