// Pictures of what is not finished yet: by a decoder, or by a linear map from latents to colours.
#pragma once

#include <optional>
#include <vector>

#include "chiaro/chiaro.h"
#include "pipeline/decode.h"

namespace chiaro {

// Errors: usage where the model cannot be shown so, naming the flag.
Status check_preview(const PreviewOptions& options, const Assembly& assembly);

// A colour of every latent: row c of `weights` is what channel c adds to red, green and blue, the last row a constant.
// Fitted by least squares to what the model's own decoder makes of smooth random latents, so it suits every model whose
// latents it was fitted to, and no table of known models is needed.
struct LatentColours {
  int64_t channels = 0;
  std::vector<float> weights;  // [channels + 1, 3]
};
// Decodes latents of 16 x 16 once. Errors: those of decode_image.
Result<LatentColours> fit_latent_colours(const Assembly& assembly, StageRunner& runner, const RunOptions& options);
// latents [C,h,w] -> image [h*scale,w*scale,3], about 0..1: every latent a square of its colour.
std::vector<float> coloured_latents(const LatentColours& colours, std::span<const float> latents, int64_t height,
                                    int64_t width, int64_t scale);

// Makes the previews of one group of pictures and hands them to the caller. A preview that fails, but for cancelling,
// ends the previews with a notice: the picture itself is not in danger.
// Thread rule: one thread at a time. The referenced objects outlive it.
class Previews {
 public:
  Previews(const Assembly& assembly, StageRunner& runner, const ResolvedRequest& request, const Callbacks& callbacks,
           std::optional<LatentColours>& colours, std::vector<std::string>& notices)
      : assembly_(assembly),
        runner_(runner),
        request_(request),
        callbacks_(callbacks),
        colours_(colours),
        notices_(notices) {}

  bool wanted() const { return callbacks_.preview.kind != PreviewKind::none && callbacks_.on_preview; }
  // As SamplingHooks::on_preview: the first picture of the group, `first`. Errors: cancelled.
  Status show(std::span<const float> x, std::span<const float> denoised, int first, int step, DType dtype,
              const RunOptions& options);

 private:
  Result<Picture> make(std::span<const float> latents, DType dtype, const RunOptions& options);

  const Assembly& assembly_;
  StageRunner& runner_;
  const ResolvedRequest& request_;
  const Callbacks& callbacks_;
  std::optional<LatentColours>& colours_;  // fitted once for a Session
  std::vector<std::string>& notices_;
  bool failed_ = false;
};

}  // namespace chiaro
