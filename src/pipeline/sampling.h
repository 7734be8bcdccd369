// The sampling loop and the decoder for one group of pictures.
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
};

// Latents [N,C,h,w] of pictures `first` .. `first + pictures - 1`. The noise of picture i comes from seed + i alone.
// Errors: non_finite naming the step, cancelled, out_of_memory.
Result<std::vector<float>> sample_latents(const Assembly& assembly, StageRunner& runner, const ResolvedRequest& request,
                                          const Conditioning& conditioning, int first, int pictures, DType dtype,
                                          const SamplingHooks& hooks, const RunOptions& options);

// One picture [h,w] of latents [C,h,w], cropped. Errors: non_finite, cancelled, out_of_memory.
Result<Picture> decode_picture(const Assembly& assembly, StageRunner& runner, const ResolvedRequest& request,
                               std::span<const float> latents, DType dtype, const RunOptions& options);

}  // namespace chiaro
