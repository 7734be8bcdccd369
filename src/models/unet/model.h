// UNet2DConditionModel: the denoiser of latent diffusion (Rombach et al., arXiv:2112.10752; Ho et al.,
// arXiv:2006.11239), as SD 1.x, 2.x and XL have it.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "models/unet/config.h"
#include "nn/weights_view.h"

namespace chiaro::models {

struct UnetInputs {
  Value sample;               // [N,H,W,in_channels], of the type to compute in
  Value timestep;             // f32 [N]
  Value context;              // [N,L,D], of the type to compute in
  Value text_embeds = kNone;  // SDXL: [N,P], of the type to compute in
  Value time_ids = kNone;     // SDXL: f32 [N,6]: original height and width, crop top and left, target height and width
};
// -> [N,H,W,out_channels]. H and W need not be multiples of anything: each up block grows to the size of its skips.
Value unet(const nn::Path& at, const UnetConfig& config, const UnetInputs& in);

// The sizes that a graph is built for.
struct UnetRequest {
  int64_t batch = 1;    // twice the pictures where guidance runs both sides at once
  int64_t height = 64;  // of the latents
  int64_t width = 64;
  int64_t context_length = 77;
  int64_t time_ids = 6;      // numbers per picture among the added conditions
  DType dtype = DType::f32;  // to compute in; inputs and outputs are f32
};
// Inputs, in this order: "sample" f32 [N,in_channels,H,W], "timestep" f32 [N], "context" f32 [N,L,D].
// With added conditions (config.added_time_dim > 0) also "text_embeds" f32 [N,P] and "time_ids" f32 [N,time_ids].
// Output: "out" f32 [N,out_channels,H,W]. Module "diffusion".
// Errors: those of the weights (bad_file, shape), and unsupported where weights and config do not fit.
Result<Graph> build_unet(const UnetConfig& config, nn::WeightSource& weights, const UnetRequest& request);

}  // namespace chiaro::models
