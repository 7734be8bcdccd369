// Euler's method on the probability flow ODE. Source: Karras et al., arXiv:2206.00364 algorithm 1 without churn.
#include "diffusion/sampler.h"

namespace chiaro {
namespace {

Result<SamplerRun> plan(const NoiseSchedule& noise, const SamplerRequest& request) {
  CHIARO_ASSIGN(const auto sigmas, noise.sigmas(request.schedule, request.steps));
  SamplerRun run;
  run.initial_scale = sigmas.front();
  for (size_t i = 0; i + 1 < sigmas.size(); ++i) {
    SamplerStep step;
    step.timestep = noise.step_time(request.schedule, request.steps, i, sigmas[i]);
    set_sigma_preconditioning(step, noise, sigmas[i]);
    step.keep = sigmas[i + 1] / sigmas[i];
    step.move = 1 - step.keep;
    run.steps.push_back(step);
  }
  return run;
}

}  // namespace

const Sampler& euler_sampler() {
  static const Sampler sampler{.name = "euler", .plan = plan};
  return sampler;
}

}  // namespace chiaro
