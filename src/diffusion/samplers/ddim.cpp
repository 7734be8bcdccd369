// DDIM with eta 0. Source: Song et al., arXiv:2010.02502 eq. 12. Latents are sqrt(a) clean + sqrt(1 - a) noise.
#include <cmath>

#include "diffusion/sampler.h"

namespace chiaro {
namespace {

Result<SamplerRun> plan(const NoiseSchedule& noise, const SamplerRequest& request) {
  CHIARO_TRY(refuse_flow("ddim", noise));
  CHIARO_ASSIGN(const auto timesteps, noise.timesteps(request.steps));
  const int stride = noise.config().train_steps / request.steps;
  SamplerRun run;
  for (const int t : timesteps) {
    const double a = noise.alpha_bar(t);
    if (!(a > 0) && noise.config().prediction != Prediction::v) {
      return Error{ErrorCode::usage, "ddim cannot begin at noise alone with a model that predicts the noise",
                   "its schedule has zero terminal SNR", "use another --sampling-method", ""};
    }
    const int before = t - stride;
    const double final_alpha = noise.config().final_alpha_one ? 1.0 : noise.alpha_bar(0);
    const double next = before >= 0 ? noise.alpha_bar(before) : final_alpha;
    SamplerStep step;
    step.timestep = t;
    if (noise.config().prediction == Prediction::v) {
      step.skip = std::sqrt(a);
      step.out = -std::sqrt(1 - a);
    } else {
      step.skip = 1 / std::sqrt(a);
      step.out = -std::sqrt(1 - a) / std::sqrt(a);
    }
    // x' = sqrt(next) clean + sqrt(1 - next) eps with eps = (x - sqrt(a) clean) / sqrt(1 - a)
    step.keep = std::sqrt(1 - next) / std::sqrt(1 - a);
    step.move = std::sqrt(next) - step.keep * std::sqrt(a);
    run.steps.push_back(step);
  }
  return run;
}

}  // namespace

const Sampler& ddim_sampler() {
  static const Sampler sampler{.name = "ddim", .fresh_noise = false, .karras = false, .flow = false, .plan = plan};
  return sampler;
}

}  // namespace chiaro
