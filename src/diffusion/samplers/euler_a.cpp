// Ancestral Euler: a step down to sigma_down, then fresh noise back up to the next level.
// Source: Song et al., arXiv:2010.02502 (the variance of eta); Crowson's k-diffusion (its form in sigma).
#include <algorithm>
#include <cmath>

#include "diffusion/sampler.h"

namespace chiaro {
namespace {

Result<SamplerRun> plan(const NoiseSchedule& noise, const SamplerRequest& request) {
  CHIARO_TRY(refuse_flow("euler_a", noise));
  CHIARO_ASSIGN(const auto sigmas, noise.sigmas(request.schedule, request.steps));
  SamplerRun run;
  run.initial_scale = sigmas.front();
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) {
    const double now = sigmas[i], next = sigmas[i + 1];
    const double up = std::min(next, request.eta * std::sqrt(next * next * (now * now - next * next) / (now * now)));
    const double down = std::sqrt(next * next - up * up);
    SamplerStep step;
    step.timestep = noise.step_time(request.schedule, request.steps, i, now);
    set_sigma_preconditioning(step, noise, now);
    step.keep = down / now;
    step.move = 1 - step.keep;
    step.noise = up;
    run.steps.push_back(step);
  }
  return run;
}

}  // namespace

const Sampler& euler_a_sampler() {
  static const Sampler sampler{.name = "euler_a", .fresh_noise = true, .flow = false, .plan = plan};
  return sampler;
}

}  // namespace chiaro
