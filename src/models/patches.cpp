#include "models/patches.h"

#include <fmt/format.h>

#include "ops/contiguous/op.h"
#include "ops/permute/op.h"
#include "ops/reshape/op.h"

namespace chiaro::models {

Value patchify(GraphBuilder& g, int64_t side, PatchOrder order, Value x) {
  if (g.failed()) return kNone;
  const Shape s = g.shape(x);  // [N,H,W,C]
  const int64_t h = s[1] / side, w = s[2] / side, channels = s[3];
  x = reshape(g, {.shape = {s[0], h, side, w, side, channels}}, x);
  const bool last = order == PatchOrder::channels_last;
  x = permute(g, {.perm = last ? Dims{0, 1, 3, 2, 4, 5} : Dims{0, 1, 3, 5, 2, 4}}, x);
  return reshape(g, {.shape = {s[0], h * w, side * side * channels}}, contiguous(g, x));
}

Value unpatchify(GraphBuilder& g, int64_t side, PatchOrder order, int64_t h, int64_t w, Value x) {
  if (g.failed()) return kNone;
  const Shape s = g.shape(x);  // [N,h*w,side*side*C]
  const int64_t channels = s[2] / (side * side);
  const bool last = order == PatchOrder::channels_last;
  x = reshape_copy(g, last ? Shape{s[0], h, w, side, side, channels} : Shape{s[0], h, w, channels, side, side}, x);
  x = permute(g, {.perm = last ? Dims{0, 1, 3, 2, 4, 5} : Dims{0, 1, 4, 2, 5, 3}}, x);
  return reshape(g, {.shape = {s[0], h * side, w * side, channels}}, contiguous(g, x));
}

Status check_patched(int64_t side, int64_t batch, int64_t height, int64_t width, int64_t context_length) {
  const auto sane = [](int64_t n) { return n >= 1 && n <= (1 << 20); };
  if (sane(batch) && sane(height) && sane(width) && sane(context_length) && height % side == 0 && width % side == 0) {
    return {};
  }
  return Error{
      ErrorCode::usage,
      fmt::format("a transformer for {} latents of {} x {} and {} tokens", batch, height, width, context_length),
      fmt::format("each must be positive and at most 1048576, the sides multiples of {}", side), "ask for another size",
      ""};
}

}  // namespace chiaro::models
