// Qwen-Image: picture and text as two streams with weights of their own that meet in every attention. Wu et al.,
// arXiv:2508.02324; two streams after Esser et al., arXiv:2403.03206.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "models/qwen_image/config.h"
#include "nn/weights_view.h"

namespace chiaro::models {

struct QwenImageInputs {
  Value sample;    // [N,H,W,in_channels], of the type to compute in; H and W multiples of the patch
  Value timestep;  // f32 [N]: sigma, 1 for noise and 0 for a clean picture
  Value context;   // [N,L,context_width], of the type to compute in: every token of the prompt, none of padding
};
// -> [N,H,W,out_channels]: the flow, the noise minus the clean picture.
Value qwen_image(const nn::Path& at, const QwenImageConfig& config, const QwenImageInputs& in);

// The sizes that a graph is built for.
struct QwenImageRequest {
  int64_t batch = 1;
  int64_t height = 64;  // of the latents
  int64_t width = 64;
  int64_t context_length = 32;
  DType dtype = DType::f32;  // to compute in; inputs and outputs are f32. f16 overflows in the published model
};
// Inputs, in this order: "sample" f32 [N,in_channels,H,W], "timestep" f32 [N], "context" f32 [N,L,context_width].
// Output: "out" f32 [N,out_channels,H,W]. Module "diffusion".
// Errors: those of the weights (bad_file, shape); usage for sizes that cannot be.
Result<Graph> build_qwen_image(const QwenImageConfig& config, nn::WeightSource& weights,
                               const QwenImageRequest& request);

}  // namespace chiaro::models
