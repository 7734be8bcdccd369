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
  // After each: the latents, and what the network takes them for without their noise, both [N,C,h,w].
  std::function<Status(std::span<const float> x, std::span<const float> denoised, int step)> on_preview;
};

// Latents [N,C,h,w] of pictures `first` .. `first + pictures - 1`. The noise of picture i comes from seed + i alone.
// Errors: non_finite naming the step, cancelled, out_of_memory.
Result<std::vector<float>> sample_latents(const Assembly& assembly, StageRunner& runner, const ResolvedRequest& request,
                                          const Conditioning& conditioning, int first, int pictures, DType dtype,
                                          const SamplingHooks& hooks, const RunOptions& options);

// Latents [C,h,w] as an image [H,W,3], about 0..1, by the vae or (`small`) the TAESD. Errors: non_finite, cancelled,
// out_of_memory.
struct DecodeSize {
  int64_t height = 0, width = 0;  // of the latents
  bool small = false;
};
Result<std::vector<float>> decode_image(const Assembly& assembly, StageRunner& runner, const DecodeSize& size,
                                        std::span<const float> latents, DType dtype, const RunOptions& options);
// The part of an image [H,W,3] that was asked for, in bytes.
Picture cropped_picture(const ResolvedRequest& request, std::span<const float> image, int64_t image_width);

// One finished picture of latents [C,h,w], cropped. Errors: as above.
Result<Picture> decode_picture(const Assembly& assembly, StageRunner& runner, const ResolvedRequest& request,
                               std::span<const float> latents, DType dtype, const RunOptions& options);

}  // namespace chiaro
