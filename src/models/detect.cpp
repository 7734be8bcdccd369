// Which family a single file belongs to. It carries no config, so names and shapes decide.
#include <fmt/format.h>

#include "models/manifest.h"
#include "models/rename.h"
#include "weights/printable.h"

namespace chiaro::models {
namespace {

constexpr std::string_view kUnetIn = "model.diffusion_model.input_blocks.0.0.weight";
constexpr std::string_view kUnetContext =
    "model.diffusion_model.input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight";

bool has_prefix(const WeightMap& file, std::string_view prefix) {
  return file.with_prefix(prefix).size() > 0;
}

Error not_yet(std::string_view family) {
  return {ErrorCode::unsupported, fmt::format("a single file of {}", family),
          "only single files of Stable Diffusion 1.x are read so far", "use a Stable Diffusion 1.x model", ""};
}

// Errors for all that is not SD 1.x.
Status check_family(const WeightMap& file) {
  const auto any = [&](std::initializer_list<std::string_view> prefixes) {
    for (const auto prefix : prefixes) {
      if (has_prefix(file, prefix)) return true;
    }
    return false;
  };
  if (any({"conditioner.embedders."}) || file.has("model.diffusion_model.label_emb.0.0.weight")) return not_yet("SDXL");
  if (any({"model.diffusion_model.joint_blocks.", "joint_blocks."})) return not_yet("Stable Diffusion 3");
  if (any({"model.diffusion_model.double_blocks.", "double_blocks."})) return not_yet("Flux");
  if (any({"cond_stage_model.model."})) return not_yet("Stable Diffusion 2.x");
  const bool unet = file.has(kUnetIn) && file.has(kUnetContext);
  const bool vae = any({"first_stage_model."});
  const bool clip = any({"cond_stage_model.transformer."});
  if (unet && vae && clip) return {};
  if (unet || vae || clip) {
    return Error{ErrorCode::unsupported, "a single file with a part of a model",
                 fmt::format("it has {} denoiser, {} autoencoder, {} text encoder", unet ? "a" : "no",
                             vae ? "an" : "no", clip ? "a" : "no"),
                 "use a file with all three, or a diffusers folder", ""};
  }
  return Error{ErrorCode::bad_file, "a file of tensors that is no known model",
               fmt::format("its {} tensors begin with {}", file.size(), printable_list(file.names(), 3)),
               "use a Stable Diffusion 1.x checkpoint or a diffusers folder", ""};
}

}  // namespace

Result<SingleFile> detect_single_file(const WeightMap& file) {
  CHIARO_TRY(check_family(file));
  SingleFile found{SingleFileFamily::sd1, sd1_unet_config(), sd1_vae_config(), clip_l_config()};
  const Shape in = file.find(kUnetIn)->desc.shape, context = file.find(kUnetContext)->desc.shape;
  if (context.rank() < 2 || context[1] != found.clip.width) {
    return not_yet(fmt::format("a UNet that reads texts of shape {}", context.text()));
  }
  if (in.rank() != 4) {
    return Error{ErrorCode::shape, fmt::format("tensor {} has the wrong shape", kUnetIn), in.text(),
                 "use another copy of the model", ""};
  }
  found.unet.in_channels = in[1];  // 9 in inpainting models, 8 in those that edit by instruction
  return found;
}

bool is_leftover(std::string_view name) {
  if (name.ends_with(".position_ids")) return true;
  for (const std::string_view front :
       {"model_ema.", "first_stage_model.loss.", "alphas_cumprod", "betas", "sqrt_", "log_one_minus_alphas_cumprod",
        "posterior_", "lvlb_weights", "logvar", "scale_factor", "cond_stage_model.logit_scale",
        "cond_stage_model.transformer.text_projection", "model.logvar"}) {
    if (name.starts_with(front)) return true;
  }
  return false;
}

int64_t ignore_leftovers(const WeightMap& file) {
  int64_t count = 0;
  for (const std::string& name : file.names()) count += is_leftover(name) && file.ignore(name) ? 1 : 0;
  return count;
}

}  // namespace chiaro::models
