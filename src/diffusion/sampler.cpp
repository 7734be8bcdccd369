#include "diffusion/sampler.h"

#include <array>
#include <cmath>
#include <string>

#include "ops/add/op.h"
#include "ops/mul/op.h"
#include "ops/slice/op.h"

namespace chiaro {
namespace {

Value scalar(GraphBuilder& g, Value scalars, int64_t index) {
  return slice(g, {.axis = 0, .start = index, .end = index + 1}, scalars);
}

}  // namespace

std::span<const Sampler* const> samplers() {
  static const std::array<const Sampler*, 5> list{&euler_sampler(), &euler_a_sampler(), &heun_sampler(),
                                                  &dpmpp_2m_sampler(), &ddim_sampler()};
  return list;
}

const Sampler* find_sampler(std::string_view name) {
  for (const Sampler* sampler : samplers()) {
    if (sampler->name == name) return sampler;
  }
  return nullptr;
}

void set_sigma_preconditioning(SamplerStep& step, const NoiseSchedule& noise, double sigma) {
  if (const FlowConfig* flow = noise.flow(); flow != nullptr) {
    step.input_scale = step.skip = 1;
    step.out = flow->reversed ? sigma : -sigma;
    return;
  }
  const double variance = sigma * sigma + 1;
  step.input_scale = 1 / std::sqrt(variance);
  if (noise.config().prediction == Prediction::v) {
    step.skip = 1 / variance;
    step.out = -sigma / std::sqrt(variance);
  } else {
    step.skip = 1;
    step.out = -sigma;
  }
}

Status refuse_flow(std::string_view sampler, const NoiseSchedule& noise) {
  if (noise.flow() == nullptr) return {};
  return Error{ErrorCode::usage, std::string(sampler) + " has no form for models of flows",
               "its formula is for noise that is added to the whole picture",
               "use --sampling-method euler, heun or dpm++2m", ""};
}

std::vector<float> step_scalars(const SamplerStep& s) {
  return {static_cast<float>(s.input_scale), static_cast<float>(s.skip), static_cast<float>(s.out),
          static_cast<float>(s.keep),        static_cast<float>(s.move), static_cast<float>(s.history),
          static_cast<float>(s.noise)};
}

Value scaled_model_input(GraphBuilder& g, Value x, Value scalars) {
  return mul(g, x, scalar(g, scalars, 0));
}

StepValues sampler_step(GraphBuilder& g, Value x, Value model_out, Value previous, Value noise, Value scalars) {
  const Value denoised = add(g, mul(g, x, scalar(g, scalars, 1)), mul(g, model_out, scalar(g, scalars, 2)));
  Value next = add(g, mul(g, x, scalar(g, scalars, 3)), mul(g, denoised, scalar(g, scalars, 4)));
  if (previous.valid()) next = add(g, next, mul(g, previous, scalar(g, scalars, 5)));
  if (noise.valid()) next = add(g, next, mul(g, noise, scalar(g, scalars, 6)));
  return {next, denoised};
}

}  // namespace chiaro
