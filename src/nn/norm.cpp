#include "nn/norm.h"

#include "ops/add_/op.h"
#include "ops/group_norm/op.h"
#include "ops/layer_norm/op.h"
#include "ops/mul_/op.h"
#include "ops/rms_norm/op.h"

namespace chiaro::nn {
namespace {

Value affine(const Layer& layer, Value normed) {
  GraphBuilder& g = layer.graph();
  const int64_t channels = g.shape(normed)[-1];
  normed = mul_(g, normed, layer.weight("weight", {channels}));
  return add_(g, normed, layer.weight("bias", {channels}));
}

}  // namespace

Value group_norm(const Path& at, int64_t groups, double eps, Value x) {
  const Layer layer(at);
  return affine(layer, chiaro::group_norm(layer.graph(), {.groups = groups, .eps = eps}, x));
}

Value layer_norm(const Path& at, double eps, Value x) {
  const Layer layer(at);
  return affine(layer, chiaro::layer_norm(layer.graph(), {.eps = eps}, x));
}

Value layer_norm_plain(const Path& at, double eps, Value x) {
  const Layer layer(at);
  return chiaro::layer_norm(layer.graph(), {.eps = eps}, x);
}

Value rms_norm(const Path& at, double eps, Value x) {
  const Layer layer(at);
  GraphBuilder& g = layer.graph();
  const int64_t channels = g.shape(x)[-1];
  return mul_(g, chiaro::rms_norm(g, {.eps = eps}, x), layer.weight("weight", {channels}));
}

}  // namespace chiaro::nn
