// Z-Image: one stream of picture and text tokens through transformer layers whose norms are scaled and whose residuals
// are gated by time. Z-Image team, arXiv:2511.22699; blocks after Lumina-Image 2.0 (Qin et al., arXiv:2503.21758).
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "models/zimage/config.h"
#include "nn/weights_view.h"

namespace chiaro::models {

struct ZImageInputs {
  Value sample;    // [N,H,W,in_channels], of the type to compute in; H and W multiples of the patch
  Value timestep;  // f32 [N]: 1 - sigma, 0 for noise and 1 for a clean picture
  Value context;   // [N,L,context_width], of the type to compute in: every token of the prompt, none of padding
};
// -> [N,H,W,in_channels]: the clean picture minus the noise (the flow, with its sign turned).
Value zimage(const nn::Path& at, const ZImageConfig& config, const ZImageInputs& in);

// The sizes that a graph is built for.
struct ZImageRequest {
  int64_t batch = 1;
  int64_t height = 64;  // of the latents
  int64_t width = 64;
  int64_t context_length = 32;
  DType dtype = DType::f32;  // to compute in; inputs and outputs are f32
};
// Errors: usage for sizes that cannot be cut into tokens or that the model has no positions for.
Status check_zimage_request(const ZImageConfig& config, const ZImageRequest& request);
// Inputs, in this order: "sample" f32 [N,in_channels,H,W], "timestep" f32 [N], "context" f32 [N,L,context_width].
// Output: "out" f32 [N,in_channels,H,W]. Module "diffusion".
// Errors: those of the weights (bad_file, shape); usage (check_zimage_request).
Result<Graph> build_zimage(const ZImageConfig& config, nn::WeightSource& weights, const ZImageRequest& request);

}  // namespace chiaro::models
