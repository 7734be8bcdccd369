#include "pipeline/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipeline/step_graph.h"

namespace chiaro {
namespace {

// Per-picture noise, so that a picture does not depend on its batch.
class BatchNoise {
 public:
  BatchNoise(const ResolvedRequest& request, int first, int pictures, size_t values) : values_(values) {
    for (int i = 0; i < pictures; ++i) {
      const uint64_t seed = request.request.seed + static_cast<uint64_t>(first + i);
      generators_.push_back(make_noise_generator(request.rng, seed));
    }
  }
  void fill(std::span<float> out) {
    for (size_t i = 0; i < generators_.size(); ++i) generators_[i]->normals(out.subspan(i * values_, values_));
  }

 private:
  size_t values_;
  std::vector<std::unique_ptr<NoiseGenerator>> generators_;
};

struct Latents {
  std::vector<float> x, next, previous, denoised, noise;
};

std::string step_key(const StepRequest& s) {
  const std::string guided = s.guided ? fmt::format(", guided by {}", s.negative_length) : "";
  return fmt::format("sampling step, {} pictures, latents {}x{}, context {}{}{}{}, {}", s.pictures, s.width, s.height,
                     s.context_length, guided, s.history ? ", history" : "", s.fresh_noise ? ", noise" : "",
                     dtype_name(s.dtype));
}

}  // namespace

Result<std::vector<float>> sample_latents(const Assembly& a, StageRunner& runner, const ResolvedRequest& request,
                                          const Conditioning& conditioning, int first, int pictures, DType dtype,
                                          const SamplingHooks& hooks, const RunOptions& options) {
  const bool history = std::any_of(request.run.steps.begin(), request.run.steps.end(),
                                   [](const SamplerStep& s) { return s.history != 0; });
  const StepRequest shape{pictures,
                          request.latent_height,
                          request.latent_width,
                          conditioning.length,
                          conditioning.negative_length,
                          request.guided,
                          history,
                          request.sampler->fresh_noise,
                          dtype};
  CHIARO_ASSIGN(auto executor, runner.executor(
                                   step_key(shape), [&] { return build_step(a, shape); }, options));

  const auto one = static_cast<size_t>(a.latent_channels() * request.latent_height * request.latent_width);
  const size_t all = one * static_cast<size_t>(pictures);
  Latents s{std::vector<float>(all), std::vector<float>(all), std::vector<float>(all), std::vector<float>(all),
            std::vector<float>(shape.fresh_noise ? all : 0)};
  BatchNoise noise(request, first, pictures, one);
  noise.fill(s.x);
  if (hooks.initial_noise) hooks.initial_noise(s.x);
  for (float& v : s.x) v *= static_cast<float>(request.run.initial_scale);
  const auto view = [&](int step) {
    if (!hooks.on_latent) return;
    hooks.on_latent({s.x.data(), pictures, a.latent_channels(), request.latent_height, request.latent_width, step});
  };
  view(0);
  const auto steps = static_cast<int>(request.run.steps.size());
  for (int i = 0; i < steps; ++i) {
    const SamplerStep& step = request.run.steps[static_cast<size_t>(i)];
    const std::vector<float> scalars = step_scalars(step);
    const float timestep[] = {static_cast<float>(step.timestep)};
    const float guidance[] = {static_cast<float>(request.request.cfg_scale)};
    if (shape.fresh_noise) noise.fill(s.noise);
    std::vector<Binding> inputs = {bind_port("x", std::span<const float>(s.x)),
                                   bind_port("scalars", std::span<const float>(scalars)),
                                   bind_port("timestep", std::span<const float>(timestep)),
                                   bind_port("context", std::span<const float>(conditioning.context))};
    if (shape.guided) inputs.push_back(bind_port("guidance", std::span<const float>(guidance)));
    if (!conditioning.negative.empty()) {
      inputs.push_back(bind_port("negative_context", std::span<const float>(conditioning.negative)));
    }
    if (shape.history) inputs.push_back(bind_port("previous", std::span<const float>(s.previous)));
    if (shape.fresh_noise) inputs.push_back(bind_port("noise", std::span<const float>(s.noise)));
    const Binding outputs[] = {bind_port("x", std::span<float>(s.next)),
                               bind_port("denoised", std::span<float>(s.denoised))};
    CHIARO_TRY(executor->run(inputs, outputs, options));
    std::swap(s.x, s.next);
    std::swap(s.previous, s.denoised);
    CHIARO_TRY(check_finite(s.x, fmt::format("sampling step {} of {}", i + 1, steps), "latents"));
    view(i + 1);
    if (hooks.on_preview) CHIARO_TRY(hooks.on_preview(s.x, s.previous, i + 1));
    if (hooks.on_step) hooks.on_step(i + 1, steps);
  }
  return std::move(s.x);
}

}  // namespace chiaro
