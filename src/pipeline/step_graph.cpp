#include "pipeline/step_graph.h"

#include "models/patches.h"
#include "models/taesd/model.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "models/wan_vae/model.h"
#include "ops/add/op.h"
#include "ops/broadcast/op.h"
#include "ops/cast/op.h"
#include "ops/concat/op.h"
#include "ops/contiguous/op.h"
#include "ops/mean/op.h"
#include "ops/mul/op.h"
#include "ops/permute/op.h"
#include "ops/reshape/op.h"
#include "ops/rms_norm/op.h"
#include "ops/scale/op.h"
#include "ops/slice/op.h"
#include "ops/sub/op.h"
#include "pipeline/flow_assembly.h"

namespace chiaro {
namespace {

Value cast_to(GraphBuilder& g, DType dtype, Value x) {
  return g.dtype(x) == dtype ? x : cast(g, {.dtype = dtype}, x);
}

Value channels_last(GraphBuilder& g, Value x) {
  return permute(g, {.perm = {0, 2, 3, 1}}, x);
}
Value channels_first(GraphBuilder& g, Value x) {
  return permute(g, {.perm = {0, 3, 1, 2}}, x);
}

// [G,L,D] -> [G*N,L,D]: every picture reads the same prompts.
Value repeat_context(GraphBuilder& g, Value context, int64_t pictures) {
  if (pictures == 1) return context;
  const Shape s = g.shape(context);
  const Value wide =
      broadcast(g, {.shape = {s[0], pictures, s[1], s[2]}}, reshape(g, {.shape = {s[0], 1, s[1], s[2]}}, context));
  return reshape(g, {.shape = {s[0] * pictures, s[1], s[2]}}, contiguous(g, wide));
}

// negative + guidance (positive - negative), on f32 [N,h,w,C].
Value guide(GraphBuilder& g, Value negative, Value positive) {
  const Value guidance = g.input("guidance", dense(DType::f32, {1}));
  return add(g, negative, mul(g, sub(g, positive, negative), guidance));
}

// Qwen-Image gives each token of what guidance made the length that the prompt alone gave it (as diffusers'
// pipeline has it): y |positive| / |y|. With r(x) = x / rms(x): rms(x) = mean(x r(x)).
Value rescale_tokens(GraphBuilder& g, int64_t patch, Value y, Value positive) {
  constexpr double kTiny = 1e-20;  // keeps a token of zeros
  const Shape s = g.shape(y);
  const auto tokens = [&](Value x) { return models::patchify(g, patch, models::PatchOrder::channels_first, x); };
  const Value cond = tokens(positive);
  const Value length = mean(g, {.axes = {-1}}, mul(g, cond, rms_norm(g, {.eps = kTiny}, cond)));
  const Value scaled = mul(g, rms_norm(g, {.eps = kTiny}, tokens(y)), length);
  return models::unpatchify(g, patch, models::PatchOrder::channels_first, s[1] / patch, s[2] / patch, scaled);
}

// What a transformer of flows says about x: [N,C,h,w], guided if asked, each prompt in its own length.
Value predict_flow(GraphBuilder& g, const Assembly& a, const StepRequest& r, Value x) {
  const auto context_input = [&](const char* name, int64_t length) {
    const Value context = g.input(name, dense(DType::f32, {1, length, a.context_width()}));
    return cast_to(g, r.dtype, repeat_context(g, context, r.pictures));
  };
  const Value context = context_input("context", r.context_length);
  const Value timestep = g.input("timestep", dense(DType::f32, {1}));
  const Value sample = cast_to(g, r.dtype, contiguous(g, channels_last(g, x)));
  const Value times = contiguous(g, broadcast(g, {.shape = {r.pictures}}, timestep));
  const Value positive = cast_to(g, DType::f32, flow_denoise(g, a, sample, times, context));
  if (!r.guided) return channels_first(g, positive);
  const Value other = context_input("negative_context", r.negative_length);
  Value negative = kNone;
  {
    const GraphBuilder::Scope scope(g, "negative");
    negative = cast_to(g, DType::f32, flow_denoise(g, a, sample, times, other));
  }
  Value out = guide(g, negative, positive);
  if (a.flow->family == models::Family::qwen_image) out = rescale_tokens(g, a.flow->patch(), out, positive);
  return channels_first(g, out);
}

// What the network says about x: [N,C,h,w], guided if asked.
Value predict(GraphBuilder& g, const Assembly& a, const StepRequest& r, Value x, Value scalars) {
  if (a.flow) return predict_flow(g, a, r, scaled_model_input(g, x, scalars));
  const int64_t sides = r.guided ? 2 : 1;
  const Value context = g.input("context", dense(DType::f32, {sides, r.context_length, a.clip.width}));
  const Value timestep = g.input("timestep", dense(DType::f32, {1}));
  Value sample = contiguous(g, channels_last(g, scaled_model_input(g, x, scalars)));
  if (r.guided) sample = concat(g, {.axis = 0}, sample, sample);
  const Value times = contiguous(g, broadcast(g, {.shape = {sides * r.pictures}}, timestep));
  const Value out =
      models::unet(nn::Path(g, *a.denoiser_weights), a.unet,
                   {cast_to(g, r.dtype, sample), times, cast_to(g, r.dtype, repeat_context(g, context, r.pictures))});
  const Value wide = cast_to(g, DType::f32, out);
  if (!r.guided) return channels_first(g, wide);
  const Value negative = slice(g, {.axis = 0, .start = 0, .end = r.pictures}, wide);
  const Value positive = slice(g, {.axis = 0, .start = r.pictures, .end = 2 * r.pictures}, wide);
  return channels_first(g, guide(g, negative, positive));
}

// Latents as sampled, [N,C,h,w], to those that the decoder takes, [N,h,w,C].
Value raw_latents(GraphBuilder& g, const Assembly& a, bool small, Value latents) {
  const auto turned = [&](Value x) { return contiguous(g, channels_last(g, x)); };
  if (small) return turned(models::taesd_clamp(g, latents));
  if (a.flow && a.flow->wan_vae) return models::wan_vae_unscale(g, *a.flow->wan_vae, turned(latents));
  return turned(scale(g, {.scale = 1.0 / a.vae.scaling_factor, .shift = a.vae.shift_factor}, latents));
}

Value decode(GraphBuilder& g, const Assembly& a, bool small, Value sample) {
  if (small) return models::taesd_decode(nn::Path(g, *a.taesd_weights), *a.taesd, sample);
  const nn::Path root(g, *a.vae_weights);
  if (a.flow && a.flow->wan_vae) return models::wan_vae_decode(root, *a.flow->wan_vae, sample);
  return models::vae_decode(root, a.vae, sample);
}

}  // namespace

Result<Graph> build_step(const Assembly& a, const StepRequest& r) {
  GraphBuilder g;
  g.set_module("diffusion");
  const TensorDesc latent = dense(DType::f32, {r.pictures, a.latent_channels(), r.height, r.width});
  const Value x = g.input("x", latent);
  const Value scalars = g.input("scalars", dense(DType::f32, {kStepScalars}));
  const Value previous = r.history ? g.input("previous", latent) : kNone;
  const Value noise = r.fresh_noise ? g.input("noise", latent) : kNone;
  const Value out = predict(g, a, r, x, scalars);
  const GraphBuilder::Scope scope(g, "sampler");
  const StepValues next = sampler_step(g, x, out, previous, noise, scalars);
  g.output("x", next.x);
  g.output("denoised", next.denoised);
  return g.finish();
}

Result<Graph> build_decode(const Assembly& a, const DecodeRequest& r) {
  GraphBuilder g;
  g.set_module("vae");
  const Value latents = g.input("latents", dense(DType::f32, {r.pictures, a.latent_channels(), r.height, r.width}));
  // Clamped or scaled before it is rounded to the type of the network.
  const Value raw = raw_latents(g, a, r.small, latents);
  const Value image = decode(g, a, r.small, cast_to(g, r.dtype, raw));
  g.output("image", scale(g, {.scale = 0.5, .shift = 0.5}, cast_to(g, DType::f32, image)));
  return g.finish();
}

Result<Graph> build_encode(const Assembly& a, const EncodeRequest& r) {
  GraphBuilder g;
  g.set_module("vae");
  const Value image = g.input("image", dense(DType::f32, {1, r.height, r.width, 3}));
  const Value sample = cast_to(g, r.dtype, scale(g, {.scale = 2, .shift = -1}, image));
  const nn::Path root(g, *a.vae_weights);
  const Value moments = a.flow && a.flow->wan_vae ? models::wan_vae_encode(root, *a.flow->wan_vae, sample)
                                                  : models::vae_encode(root, a.vae, sample);
  g.output("moments", cast_to(g, DType::f32, moments));
  return g.finish();
}

}  // namespace chiaro
