// AutoencoderKL: between pictures and latents. Rombach et al., arXiv:2112.10752, section 3.1; Esser et al.,
// arXiv:2012.09841, appendix A.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "models/vae/config.h"
#include "nn/weights_view.h"

namespace chiaro::models {

// image [N,H,W,in_channels] in -1..1 -> moments [N,h,w,2*latent_channels]: the mean, then the logarithm of the
// variance. h = H / scale(), rounded down.
Value vae_encode(const nn::Path& at, const VaeConfig& config, Value image);
// latents [N,h,w,latent_channels], already divided by the scaling factor -> image [N,H,W,out_channels], about -1..1.
Value vae_decode(const nn::Path& at, const VaeConfig& config, Value latents);

// The sizes that a graph is built for: of the picture (encoder) or of the latents (decoder).
struct VaeRequest {
  int64_t batch = 1;
  int64_t height = 64;
  int64_t width = 64;
  DType dtype = DType::f32;  // to compute in; inputs and outputs are f32
};
// Input: "image" f32 [N,in_channels,H,W]. Output: "moments" f32 [N,2*latent_channels,h,w]. Module "vae".
Result<Graph> build_vae_encoder(const VaeConfig& config, nn::WeightSource& weights, const VaeRequest& request);
// Input: "latents" f32 [N,latent_channels,h,w]. Output: "image" f32 [N,out_channels,h*scale(),w*scale()]. Module "vae".
// Neither scales latents: the pipeline applies scaling_factor and shift_factor.
Result<Graph> build_vae_decoder(const VaeConfig& config, nn::WeightSource& weights, const VaeRequest& request);

}  // namespace chiaro::models
