// TAESD: between pictures and latents by a few convolutions, for previews and for machines of little memory. It has no
// paper; the layers are those of https://github.com/madebyollin/taesd.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "models/taesd/config.h"
#include "nn/weights_view.h"

namespace chiaro::models {

// image [N,H,W,3] in -1..1 -> latents [N,h,w,latent_channels] as the denoiser has them, h = H / scale() rounded up.
Value taesd_encode(const nn::Path& at, const TaesdConfig& config, Value image);
// latents [N,h,w,latent_channels] as the denoiser has them, already soft-clamped (taesd_clamp) -> image [N,H,W,3],
// about -1..1.
Value taesd_decode(const nn::Path& at, const TaesdConfig& config, Value latents);
// 3 tanh(x / 3): keeps latents in the range that the decoder was trained on. Any shape.
Value taesd_clamp(GraphBuilder& g, Value latents);

// The sizes that a graph is built for: of the picture (encoder) or of the latents (decoder).
struct TaesdRequest {
  int64_t batch = 1;
  int64_t height = 64;
  int64_t width = 64;
  DType dtype = DType::f32;  // to compute in; inputs and outputs are f32
};
// Input: "image" f32 [N,3,H,W]. Output: "latents" f32 [N,latent_channels,h,w]: no mean and variance to sample from, and
// no scaling factor to apply. Module "vae".
Result<Graph> build_taesd_encoder(const TaesdConfig& config, nn::WeightSource& weights, const TaesdRequest& request);
// Input: "latents" f32 [N,latent_channels,h,w], as the denoiser leaves them. Output: "image" f32
// [N,3,h*scale(),w*scale()]. Module "vae".
Result<Graph> build_taesd_decoder(const TaesdConfig& config, nn::WeightSource& weights, const TaesdRequest& request);

}  // namespace chiaro::models
