// The causal autoencoder of Wan 2.1 (Wan team, arXiv:2503.20314, section 4.1) for one frame, as Qwen-Image uses it: the
// layers that mix frames see nothing but the first, so that all is done in two dimensions.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "models/wan_vae/config.h"
#include "nn/weights_view.h"

namespace chiaro::models {

// image [N,H,W,3] in -1..1 -> moments [N,h,w,2*latent_channels]: the mean, then the logarithm of the variance.
// h = H / scale(), rounded down.
Value wan_vae_encode(const nn::Path& at, const WanVaeConfig& config, Value image);
// latents [N,h,w,latent_channels], with mean and deviation put back -> image [N,H,W,3], about -1..1.
Value wan_vae_decode(const nn::Path& at, const WanVaeConfig& config, Value latents);
// Sampled latents [N,h,w,latent_channels] -> those that wan_vae_decode takes: times latents_std plus latents_mean.
Value wan_vae_unscale(GraphBuilder& g, const WanVaeConfig& config, Value latents);

// The sizes that a graph is built for: of the picture (encoder) or of the latents (decoder).
struct WanVaeRequest {
  int64_t batch = 1;
  int64_t height = 64;
  int64_t width = 64;
  DType dtype = DType::f32;  // to compute in; inputs and outputs are f32
};
// Input: "image" f32 [N,3,H,W]. Output: "moments" f32 [N,2*latent_channels,h,w]. Module "vae".
Result<Graph> build_wan_vae_encoder(const WanVaeConfig& config, nn::WeightSource& weights,
                                    const WanVaeRequest& request);
// Input: "latents" f32 [N,latent_channels,h,w]. Output: "image" f32 [N,3,h*scale(),w*scale()]. Module "vae".
// Neither scales latents.
Result<Graph> build_wan_vae_decoder(const WanVaeConfig& config, nn::WeightSource& weights,
                                    const WanVaeRequest& request);

}  // namespace chiaro::models
