// The graphs of one sampling step and of the autoencoder, composed from models and samplers.
#pragma once

#include <cstdint>

#include "diffusion/sampler.h"
#include "pipeline/assembly.h"

namespace chiaro {

struct StepRequest {
  int64_t pictures = 1;
  int64_t height = 32, width = 32;  // of the latents
  int64_t context_length = 77;
  int64_t negative_length = 77;  // of the negative prompt, where it is apart (Conditioning)
  bool guided = true;            // both sides of classifier-free guidance (Ho and Salimans, arXiv:2207.12598)
  bool history = false;          // the sampler reads the denoised latent of the step before
  bool fresh_noise = false;
  DType dtype = DType::f32;  // of activations inside the network
};
// Inputs, f32: "x", and where asked "previous" and "noise" [N,C,h,w]; "timestep" [1]; "context" [G,L,D] with G = 2 rows
// (negative, positive) where guided, else 1, and in one batch; "scalars" [kStepScalars]; "guidance" [1] where guided.
// Of models of flows: "context" [1,L,D] and where guided "negative_context" [1,negative_length,D], one after another.
// Outputs, f32 [N,C,h,w]: "x", "denoised".
Result<Graph> build_step(const Assembly& assembly, const StepRequest& request);

// Input: "latents" f32 [N,C,h,w] as sampled. Output: "image" f32 [N,H,W,3] in 0..1, clamped only by the caller.
struct DecodeRequest {
  int64_t pictures = 1;
  int64_t height = 32, width = 32;  // of the latents
  DType dtype = DType::f32;
  bool small = false;  // by the TAESD; else by the vae
};
Result<Graph> build_decode(const Assembly& assembly, const DecodeRequest& request);

// Input: "image" f32 [1,H,W,3] in 0..1, H and W whole latents. Output: "moments" f32 [1,h,w,2*C], as the vae gives
// them.
struct EncodeRequest {
  int64_t height = 64, width = 64;  // of the picture
  DType dtype = DType::f32;
};
Result<Graph> build_encode(const Assembly& assembly, const EncodeRequest& request);

}  // namespace chiaro
