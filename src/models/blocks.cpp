#include "models/blocks.h"

#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/add_/op.h"
#include "ops/reshape/op.h"
#include "ops/silu_/op.h"
#include "ops/upsample_nearest/op.h"

namespace chiaro::models {

Value resnet_block(const nn::Path& at, const ResnetShape& shape, Value x, Value time) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  Value h = silu_(g, nn::group_norm(layer["norm1"], shape.groups, shape.eps, x));
  h = nn::conv2d_same(layer["conv1"], shape.out, 3, h);
  if (time.valid()) {
    const Value t = nn::linear(layer["time_emb_proj"], {.out = shape.out}, time);
    h = add_(g, h, reshape(g, {.shape = {g.shape(t)[0], 1, 1, shape.out}}, t));
  }
  h = silu_(g, nn::group_norm(layer["norm2"], shape.groups, shape.eps, h));
  h = nn::conv2d_same(layer["conv2"], shape.out, 3, h);
  if (g.shape(x)[-1] != shape.out) x = nn::conv2d_same(layer["conv_shortcut"], shape.out, 1, x);
  return add_(g, h, x);
}

Value downsample(const nn::Path& at, int64_t pad, Value x) {
  const nn::Layer layer(at);
  const Dims pads = pad == 0 ? Dims{0, 1, 0, 1} : Dims{pad, pad, pad, pad};
  return nn::conv2d(layer["conv"], {.out = layer.graph().shape(x)[-1], .stride = 2, .pad = pads}, x);
}

Value upsample(const nn::Path& at, int64_t height, int64_t width, Value x) {
  const nn::Layer layer(at);
  GraphBuilder& g = layer.graph();
  x = upsample_nearest(g, {.height = height, .width = width}, x);
  return nn::conv2d_same(layer["conv"], g.shape(x)[-1], 3, x);
}

}  // namespace chiaro::models
