// The sampling loop for one group of pictures.
#pragma once

#include <functional>
#include <vector>

#include "pipeline/conditioning.h"
#include "pipeline/request.h"
#include "pipeline/stage_runner.h"

namespace chiaro {

struct SamplingHooks {
  std::function<void(std::span<float>)> initial_noise;  // instead of the seeds' own, for tests: [N,C,h,w] normals
  std::function<void(int step, int steps)> on_step;     // after each
  std::function<void(const LatentView&)> on_latent;     // after each, and before the first with step 0
  // After each: the latents, and what the network takes them for without their noise, both [N,C,h,w].
  std::function<Status(std::span<const float> x, std::span<const float> denoised, int step)> on_preview;
};

// Latents [N,C,h,w] of pictures `first` .. `first + pictures - 1`. The noise of picture i comes from seed + i alone.
// Errors: non_finite naming the step, cancelled, out_of_memory.
Result<std::vector<float>> sample_latents(const Assembly& assembly, StageRunner& runner, const ResolvedRequest& request,
                                          const Conditioning& conditioning, int first, int pictures, DType dtype,
                                          const SamplingHooks& hooks, const RunOptions& options);

}  // namespace chiaro
