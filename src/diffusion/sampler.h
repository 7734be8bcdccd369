// Samplers: from noise to a latent in steps. A sampler is data: for every step the scalars of
//
//   model input = input_scale * x                      model output m = unet(model input, timestep)
//   denoised    = skip * x + out * m                   (the model's guess of the clean latent)
//   x'          = keep * x + move * denoised + history * previous denoised + noise * fresh normals
//
// so that one graph, built once, serves every step and every sampler: what changes is a small tensor input.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "diffusion/schedule.h"
#include "graph/builder.h"

namespace chiaro {

struct SamplerStep {
  double timestep = 0;  // what the network is told; may be fractional
  double input_scale = 1;
  double skip = 0, out = 0;
  double keep = 0, move = 0, history = 0, noise = 0;
};

struct SamplerRun {
  double initial_scale = 1;  // the first latent is this times standard normals
  std::vector<SamplerStep> steps;
};

struct SamplerRequest {
  ScheduleKind schedule = ScheduleKind::discrete;
  int steps = 20;
  double eta = 1;  // of ancestral samplers: how much noise is added anew
};

struct Sampler {
  std::string_view name;     // as sd-cli's --sampling-method spells it
  bool fresh_noise = false;  // draws noise at every step
  bool karras = true;        // takes --schedule karras
  bool flow = true;          // has a form for models of flows
  Result<SamplerRun> (*plan)(const NoiseSchedule&, const SamplerRequest&) = nullptr;
};

std::span<const Sampler* const> samplers();
const Sampler* find_sampler(std::string_view name);  // nullptr where there is none

const Sampler& ddim_sampler();
const Sampler& euler_sampler();
const Sampler& euler_a_sampler();
const Sampler& heun_sampler();
const Sampler& dpmpp_2m_sampler();

// How a model's output becomes `denoised` at noise level sigma, for x = clean + sigma * noise.
// Source: Karras et al. arXiv:2206.00364 sec. 5; v: Salimans and Ho arXiv:2202.00512. For a flow, x = (1 - sigma) clean
// + sigma noise instead (diffusion/flow.h).
void set_sigma_preconditioning(SamplerStep& step, const NoiseSchedule& noise, double sigma);

// Errors: usage where the noise is that of a flow, for which `sampler` has no form.
Status refuse_flow(std::string_view sampler, const NoiseSchedule& noise);

inline constexpr int kStepScalars = 7;  // input_scale, skip, out, keep, move, history, noise
std::vector<float> step_scalars(const SamplerStep& step);

struct StepValues {
  Value x;         // [N,C,H,W] the new latent
  Value denoised;  // [N,C,H,W]
};
// x, model_out, previous (denoised of the step before), noise [N,C,H,W]; scalars f32 [kStepScalars].
Value scaled_model_input(GraphBuilder& g, Value x, Value scalars);
StepValues sampler_step(GraphBuilder& g, Value x, Value model_out, Value previous, Value noise, Value scalars);

}  // namespace chiaro
