#include "pipeline/step_graph.h"

#include "models/taesd/model.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "ops/add/op.h"
#include "ops/broadcast/op.h"
#include "ops/cast/op.h"
#include "ops/concat/op.h"
#include "ops/contiguous/op.h"
#include "ops/mul/op.h"
#include "ops/permute/op.h"
#include "ops/reshape/op.h"
#include "ops/scale/op.h"
#include "ops/slice/op.h"
#include "ops/sub/op.h"

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

// What the network says about x: [N,C,h,w], guided if asked.
Value predict(GraphBuilder& g, const Assembly& a, const StepRequest& r, Value x, Value scalars) {
  const int64_t sides = r.guided ? 2 : 1;
  const Value context = g.input("context", dense(DType::f32, {sides, r.context_length, a.clip.width}));
  const Value timestep = g.input("timestep", dense(DType::f32, {1}));
  Value sample = contiguous(g, channels_last(g, scaled_model_input(g, x, scalars)));
  if (r.guided) sample = concat(g, {.axis = 0}, sample, sample);
  const Value times = contiguous(g, broadcast(g, {.shape = {sides * r.pictures}}, timestep));
  const Value out =
      models::unet(nn::Path(g, *a.unet_weights), a.unet,
                   {cast_to(g, r.dtype, sample), times, cast_to(g, r.dtype, repeat_context(g, context, r.pictures))});
  const Value wide = cast_to(g, DType::f32, out);
  if (!r.guided) return channels_first(g, wide);
  const Value negative = slice(g, {.axis = 0, .start = 0, .end = r.pictures}, wide);
  const Value positive = slice(g, {.axis = 0, .start = r.pictures, .end = 2 * r.pictures}, wide);
  const Value guidance = g.input("guidance", dense(DType::f32, {1}));
  return channels_first(g, add(g, negative, mul(g, sub(g, positive, negative), guidance)));
}

}  // namespace

Result<Graph> build_step(const Assembly& a, const StepRequest& r) {
  GraphBuilder g;
  g.set_module("diffusion");
  const TensorDesc latent = dense(DType::f32, {r.pictures, a.unet.in_channels, r.height, r.width});
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
  const Value latents = g.input("latents", dense(DType::f32, {r.pictures, a.vae.latent_channels, r.height, r.width}));
  // Clamped or scaled before it is rounded to the type of the network.
  const Value raw = r.small ? models::taesd_clamp(g, latents)
                            : scale(g, {.scale = 1.0 / a.vae.scaling_factor, .shift = a.vae.shift_factor}, latents);
  const Value sample = cast_to(g, r.dtype, contiguous(g, channels_last(g, raw)));
  const Value image = r.small ? models::taesd_decode(nn::Path(g, *a.taesd_weights), *a.taesd, sample)
                              : models::vae_decode(nn::Path(g, *a.vae_weights), a.vae, sample);
  g.output("image", scale(g, {.scale = 0.5, .shift = 0.5}, cast_to(g, DType::f32, image)));
  return g.finish();
}

}  // namespace chiaro
