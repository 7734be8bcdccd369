// What a request means for a model: defaults filled in, names resolved, limits checked before any work.
#pragma once

#include <string>
#include <vector>

#include "diffusion/rng.h"
#include "diffusion/sampler.h"
#include "pipeline/assembly.h"

namespace chiaro {

struct ResolvedRequest {
  GenerateRequest request;  // with defaults filled in
  const Sampler* sampler = nullptr;
  SamplerRun run;
  RngKind rng = RngKind::cuda;
  DType dtype = DType::f32;  // of activations
  bool guided = true;
  int64_t latent_height = 0, latent_width = 0;  // padded so that the network's levels divide them
  int crop_x = 0, crop_y = 0;                   // of the finished picture, in pixels
  std::vector<std::string> notices;
};

// "auto", "f32", "f16", "bf16". Errors: usage.
Result<DType> activation_dtype(const std::string& precision);

// Errors: usage, each with what is allowed.
Result<ResolvedRequest> resolve_request(const Assembly& assembly, const GenerateRequest& request,
                                        DType session_dtype = DType::f32);

}  // namespace chiaro
