// From latents to pictures and back, whole or in tiles.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/request.h"
#include "pipeline/stage_runner.h"
#include "pipeline/tiling.h"

namespace chiaro {

// Latents [C,h,w] as an image [H,W,3], about 0..1, by the vae or (`small`) the TAESD.
struct DecodeSize {
  int64_t height = 0, width = 0;  // of the latents
  bool small = false;
  std::optional<TileSize> tile = {};  // nothing: whole
};
// After each tile; `tiles` is 1 for a whole picture.
using OnTile = std::function<void(int64_t done, int64_t tiles)>;

// Beside the result, one tile is held and the arena of one. Errors: non_finite, cancelled (between tiles, too),
// out_of_memory.
Result<std::vector<float>> decode_image(const Assembly& assembly, StageRunner& runner, const DecodeSize& size,
                                        std::span<const float> latents, DType dtype, const RunOptions& options,
                                        const OnTile& on_tile = {});

// A picture [H,W,3], 0..1, to what the vae makes of it, [h,w,2*C]: the mean of each latent, then the logarithm of its
// variance. Errors: as decode_image; usage for a model without an encoder.
struct EncodeSize {
  int64_t height = 0, width = 0;      // pixels, whole latents
  std::optional<TileSize> tile = {};  // in latents; nothing: whole
};
Result<std::vector<float>> encode_image(const Assembly& assembly, StageRunner& runner, const EncodeSize& size,
                                        std::span<const float> image, DType dtype, const RunOptions& options,
                                        const OnTile& on_tile = {});

// What is to be decoded in tiles, and why: where it was asked for, or where the whole does not fit the budget of a
// device. The same for the same request, model and devices, whatever they hold now. Errors: those of planning.
struct TileChoice {
  std::optional<TileSize> tile;
  std::string why;  // of an automatic choice
};
Result<TileChoice> choose_tile(const Assembly& assembly, StageRunner& runner, const VaeTiling& asked,
                               const DecodeSize& size, DType dtype);
// What to try where memory ran out with `tile` (nothing: the whole): tiles of 64, 32, then 16 latents. Nothing where no
// smaller ones are left.
std::optional<TileSize> smaller_tile(const DecodeSize& size, double overlap);

// The part of an image [H,W,3] that was asked for, in bytes.
Picture cropped_picture(const ResolvedRequest& request, std::span<const float> image, int64_t image_width);

// The pictures of one run. Where memory runs out a picture is decoded again: first without what the runner keeps, then
// in smaller and smaller tiles, each with a notice, and those that follow take the tiles that did it.
// Thread rule: one thread. The referenced objects outlive it.
class PictureDecoder {
 public:
  PictureDecoder(const Assembly& assembly, StageRunner& runner, const ResolvedRequest& request,
                 std::vector<std::string>& notices)
      : assembly_(assembly), runner_(runner), request_(request), notices_(notices) {}
  // One finished picture of latents [C,h,w], cropped. Errors: as decode_image.
  Result<Picture> decode(std::span<const float> latents, DType dtype, const RunOptions& options,
                         const OnTile& on_tile = {});

 private:
  Status choose(DecodeSize& size, DType dtype);
  void say_once(const std::string& notice);

  const Assembly& assembly_;
  StageRunner& runner_;
  const ResolvedRequest& request_;
  std::vector<std::string>& notices_;
  std::optional<TileSize> forced_;  // since memory ran out
};

}  // namespace chiaro
