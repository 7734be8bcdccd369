#include "models/taesd/model.h"

#include <fmt/format.h>

#include "nn/layout.h"
#include "nn/linear.h"
#include "ops/add_/op.h"
#include "ops/relu/op.h"
#include "ops/scale/op.h"
#include "ops/sigmoid/op.h"
#include "ops/upsample_nearest/op.h"

namespace chiaro::models {
namespace {

// x [N,H,W,C] -> the same.
Value block(const nn::Path& at, int64_t width, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  Value h = relu(g, nn::conv2d_same(layer["conv.0"], width, 3, x));
  h = relu(g, nn::conv2d_same(layer["conv.2"], width, 3, h));
  h = nn::conv2d_same(layer["conv.4"], width, 3, h);
  return relu(g, add_(g, h, x));
}

// Hands out the places of a sequence of layers: "layers.0", "layers.1", ...
class Sequence {
 public:
  explicit Sequence(const nn::Layer& layer) : layers_(layer["layers"]) {}
  nn::Path next() { return layers_[index_++]; }
  void skip() { ++index_; }  // a layer without weights

 private:
  nn::Path layers_;
  int64_t index_ = 0;
};

Value blocks(Sequence& sequence, int64_t count, int64_t width, Value x) {
  for (int64_t i = 0; i < count; ++i) x = block(sequence.next(), width, x);
  return x;
}

Status check_request(const TaesdRequest& request) {
  const auto sane = [](int64_t n) { return n >= 1 && n <= (1 << 20); };
  if (sane(request.batch) && sane(request.height) && sane(request.width)) return {};
  return Error{ErrorCode::usage,
               fmt::format("a small autoencoder for {} of {} x {}", request.batch, request.height, request.width),
               "each must be positive and at most 1048576", "ask for a smaller picture", ""};
}

}  // namespace

Value taesd_encode(const nn::Path& at, const TaesdConfig& config, Value image) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const nn::Layer encoder(layer["encoder"]);
  Sequence sequence(encoder);
  const int64_t width = config.encoder_width;
  Value x = scale(g, {.scale = 0.5, .shift = 0.5}, image);  // it was trained on pictures in 0..1
  x = nn::conv2d_same(sequence.next(), width, 3, x);
  for (size_t i = 0; i < config.encoder_blocks.size(); ++i) {
    if (i > 0) x = nn::conv2d(sequence.next(), {.out = width, .stride = 2, .bias = false}, x);
    x = blocks(sequence, config.encoder_blocks[i], width, x);
  }
  return nn::conv2d_same(sequence.next(), config.latent_channels, 3, x);
}

Value taesd_decode(const nn::Path& at, const TaesdConfig& config, Value latents) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const nn::Layer decoder(layer["decoder"]);
  Sequence sequence(decoder);
  const int64_t width = config.decoder_width;
  Value x = relu(g, nn::conv2d_same(sequence.next(), width, 3, latents));
  sequence.skip();  // relu
  for (size_t i = 0; i < config.decoder_blocks.size(); ++i) {
    x = blocks(sequence, config.decoder_blocks[i], width, x);
    if (i + 1 == config.decoder_blocks.size() || g.failed()) break;
    x = upsample_nearest(g, {.height = 2 * g.shape(x)[1], .width = 2 * g.shape(x)[2]}, x);
    sequence.skip();  // upsampling
    x = nn::conv2d(sequence.next(), {.out = width, .bias = false}, x);
  }
  x = nn::conv2d_same(sequence.next(), config.image_channels, 3, x);
  return scale(g, {.scale = 2, .shift = -1}, x);
}

Value taesd_clamp(GraphBuilder& g, Value latents) {
  // tanh(u) = 2 sigmoid(2 u) - 1
  return scale(g, {.scale = 6, .shift = -3}, sigmoid(g, scale(g, {.scale = 2.0 / 3.0}, latents)));
}

Result<Graph> build_taesd_encoder(const TaesdConfig& config, nn::WeightSource& weights, const TaesdRequest& request) {
  CHIARO_TRY(check_request(request));
  GraphBuilder g;
  g.set_module("vae");
  const Shape shape = {request.batch, config.image_channels, request.height, request.width};
  const Value image = nn::to_channels_last(g, request.dtype, g.input("image", dense(DType::f32, shape)));
  g.output("latents", nn::to_channels_first_f32(g, taesd_encode(nn::Path(g, weights), config, image)));
  return g.finish();
}

Result<Graph> build_taesd_decoder(const TaesdConfig& config, nn::WeightSource& weights, const TaesdRequest& request) {
  CHIARO_TRY(check_request(request));
  GraphBuilder g;
  g.set_module("vae");
  const Shape shape = {request.batch, config.latent_channels, request.height, request.width};
  // Clamped before it is rounded to half precision.
  const Value clamped = taesd_clamp(g, g.input("latents", dense(DType::f32, shape)));
  const Value latents = nn::to_channels_last(g, request.dtype, clamped);
  g.output("image", nn::to_channels_first_f32(g, taesd_decode(nn::Path(g, weights), config, latents)));
  return g.finish();
}

}  // namespace chiaro::models
