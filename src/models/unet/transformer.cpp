#include "models/unet/transformer.h"

#include "nn/attention.h"
#include "nn/layout.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/add_/op.h"
#include "ops/geglu/op.h"

namespace chiaro::models {
namespace {

constexpr double kNormEps = 1e-6;       // of the transformer's own group norm, whatever the UNet's is
constexpr double kLayerNormEps = 1e-5;  // PyTorch's default
constexpr int64_t kExpansion = 4;       // of the feed-forward's inner width

// x [N,L,C]. GEGLU: Shazeer, arXiv:2002.05202.
Value feed_forward(const nn::Path& at, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const int64_t channels = g.shape(x)[-1];
  x = geglu(g, nn::linear(layer["net.0.proj"], {.out = 2 * kExpansion * channels}, x));
  return nn::linear(layer["net.2"], {.out = channels}, x);
}

// x [N,L,C], context [N,Lc,D] -> [N,L,C].
Value transformer_block(const nn::Path& at, int64_t heads, Value x, Value context) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  Value h = nn::layer_norm(layer["norm1"], kLayerNormEps, x);
  x = add_(g, nn::attention(layer["attn1"], {.heads = heads}, h, h), x);
  h = nn::layer_norm(layer["norm2"], kLayerNormEps, x);
  x = add_(g, nn::attention(layer["attn2"], {.heads = heads}, h, context), x);
  h = nn::layer_norm(layer["norm3"], kLayerNormEps, x);
  return add_(g, feed_forward(layer["ff"], h), x);
}

}  // namespace

Value spatial_transformer(const nn::Path& at, const UnetLevel& level, int64_t norm_groups, Value x, Value context) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  const int64_t height = g.shape(x)[1], width = g.shape(x)[2];
  Value h = nn::to_tokens(g, nn::group_norm(layer["norm"], norm_groups, kNormEps, x));
  // Channels last, a 1x1 convolution and a linear layer are one thing.
  h = nn::linear(layer["proj_in"], {.out = level.channels}, h);
  for (int64_t i = 0; i < level.depth && !g.failed(); ++i) {
    h = transformer_block(layer["transformer_blocks"][i], level.heads, h, context);
  }
  h = nn::linear(layer["proj_out"], {.out = level.channels}, h);
  return add_(g, nn::from_tokens(g, height, width, h), x);
}

}  // namespace chiaro::models
