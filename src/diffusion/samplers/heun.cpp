// Heun's method: a step of Euler's, then again with the mean of the slopes at both of its ends; two runs of the network
// a step, one in the last, to sigma 0. Source: Karras et al., arXiv:2206.00364 algorithm 1 without churn.
#include "diffusion/sampler.h"

namespace chiaro {
namespace {

// The second half, at y = k x + (1 - k) D with k = next / now, D the first half's denoised latent and E its own:
//   x' = x + (next - now) / 2 ((x - D) / now + (y - E) / next), with x = (y - (1 - k) D) / k
void set_correction(SamplerStep& step, double now, double next) {
  const double k = next / now, half = (next - now) / 2;
  const double of_x = 1 + half / now;
  step.keep = of_x / k + half / next;
  step.move = -half / next;
  step.history = -half / now - of_x * (1 - k) / k;
}

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
    run.steps.push_back(step);
    if (!(next > 0)) continue;
    SamplerStep again;
    again.timestep = noise.step_time(request.schedule, request.steps, i + 1, next);
    set_sigma_preconditioning(again, noise, next);
    set_correction(again, now, next);
    run.steps.push_back(again);
  }
  return run;
}

}  // namespace

const Sampler& heun_sampler() {
  static const Sampler sampler{.name = "heun", .plan = plan};
  return sampler;
}

}  // namespace chiaro
