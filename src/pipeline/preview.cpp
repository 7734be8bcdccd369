#include "pipeline/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "diffusion/rng.h"

namespace chiaro {
namespace {

constexpr int64_t kFitSide = 16;  // latents along a side of what the colours are fitted to
constexpr int64_t kFitPatch = 2;  // latents along a side of a patch of one colour: decoders expect smooth latents

// Random latents [C,16,16], constant in patches, of the spread that latents have (about 1).
std::vector<float> fit_latents(int64_t channels) {
  constexpr int64_t kPatches = kFitSide / kFitPatch;
  std::vector<float> patches(static_cast<size_t>(channels * kPatches * kPatches));
  make_noise_generator(RngKind::cuda, 0)->normals(patches);
  std::vector<float> latents;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < kFitSide; ++y) {
      for (int64_t x = 0; x < kFitSide; ++x) {
        latents.push_back(patches[static_cast<size_t>((c * kPatches + y / kFitPatch) * kPatches + x / kFitPatch)]);
      }
    }
  }
  return latents;
}

// The mean colour of the pixels of latent (y, x) of an image `width` pixels wide.
std::array<double, 3> mean_colour(std::span<const float> image, int64_t width, int64_t scale, int64_t y, int64_t x) {
  std::array<double, 3> sum{};
  for (int64_t v = y * scale; v < (y + 1) * scale; ++v) {
    for (int64_t u = x * scale; u < (x + 1) * scale; ++u) {
      for (size_t k = 0; k < 3; ++k) sum[k] += image[static_cast<size_t>(v * width + u) * 3 + k];
    }
  }
  for (double& s : sum) s /= static_cast<double>(scale * scale);
  return sum;
}

// Solves a x = b for three right-hand sides by Gaussian elimination with pivoting; `a` is n x n with the three columns
// of `b` behind it, row by row, and ends as the solution in those columns.
void solve(std::vector<double>& a, size_t n) {
  const size_t row = n + 3;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::fabs(a[i * row + k]) > std::fabs(a[pivot * row + k])) pivot = i;
    }
    for (size_t j = 0; j < row; ++j) std::swap(a[k * row + j], a[pivot * row + j]);
    for (size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = a[i * row + k] / a[k * row + k];
      for (size_t j = k; j < row; ++j) a[i * row + j] -= factor * a[k * row + j];
    }
    const double unit = a[k * row + k];
    for (size_t j = k; j < row; ++j) a[k * row + j] /= unit;
  }
}

LatentColours least_squares(std::span<const float> latents, std::span<const float> image, int64_t channels,
                            int64_t scale) {
  constexpr int64_t kLatents = kFitSide * kFitSide;
  const auto n = static_cast<size_t>(channels) + 1;
  const size_t row = n + 3;
  std::vector<double> normal(n * row);
  std::vector<double> sample(row);
  for (int64_t i = 0; i < kLatents; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      sample[static_cast<size_t>(c)] = latents[static_cast<size_t>(c * kLatents + i)];
    }
    sample[n - 1] = 1;
    const auto colour = mean_colour(image, kFitSide * scale, scale, i / kFitSide, i % kFitSide);
    for (size_t k = 0; k < 3; ++k) sample[n + k] = colour[k];
    for (size_t p = 0; p < n; ++p) {
      for (size_t q = 0; q < row; ++q) normal[p * row + q] += sample[p] * sample[q];
    }
  }
  solve(normal, n);
  LatentColours colours{channels, {}};
  for (size_t p = 0; p < n; ++p) {
    for (size_t k = 0; k < 3; ++k) colours.weights.push_back(static_cast<float>(normal[p * row + n + k]));
  }
  return colours;
}

}  // namespace

Status check_preview(const PreviewOptions& options, const Assembly& a) {
  const auto refuse = [](std::string what, std::string why, std::string mend) {
    return Error{ErrorCode::usage, std::move(what), std::move(why), std::move(mend), "preview"};
  };
  if (options.interval < 1) {
    return refuse(fmt::format("a preview after every {} steps", options.interval), "it must be one step or more",
                  "give a preview interval of 1 or more");
  }
  if (options.kind == PreviewKind::tae && !a.taesd) {
    return refuse("there is no TAESD to make previews with", "the model has none", "give one: --taesd FILE");
  }
  if (options.kind == PreviewKind::vae && !a.has_vae) {
    return refuse("there is no VAE to make previews with", "a TAESD decodes in its place", "use --preview tae");
  }
  return {};
}

Result<LatentColours> fit_latent_colours(const Assembly& a, StageRunner& runner, const RunOptions& options) {
  const std::vector<float> latents = fit_latents(a.latent_channels());
  const DecodeSize size{kFitSide, kFitSide, a.taesd_decodes};
  CHIARO_ASSIGN(const std::vector<float> image, decode_image(a, runner, size, latents, DType::f32, options));
  return least_squares(latents, image, a.latent_channels(), a.latent_scale());
}

std::vector<float> coloured_latents(const LatentColours& colours, std::span<const float> latents, int64_t height,
                                    int64_t width, int64_t scale) {
  const auto plane = static_cast<size_t>(height * width);
  const auto channels = static_cast<size_t>(colours.channels);
  std::vector<float> image(plane * static_cast<size_t>(scale * scale) * 3);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      std::array<float, 3> colour{};
      for (size_t k = 0; k < 3; ++k) {
        colour[k] = colours.weights[channels * 3 + k];
        for (size_t c = 0; c < channels; ++c) {
          colour[k] += colours.weights[c * 3 + k] * latents[c * plane + static_cast<size_t>(y * width + x)];
        }
      }
      for (int64_t v = y * scale; v < (y + 1) * scale; ++v) {
        float* out = &image[static_cast<size_t>(v * width * scale + x * scale) * 3];
        for (int64_t u = 0; u < scale; ++u) out = std::copy(colour.begin(), colour.end(), out);
      }
    }
  }
  return image;
}

Result<Picture> Previews::make(std::span<const float> latents, DType dtype, const RunOptions& options) {
  const int64_t height = request_.latent_height, width = request_.latent_width, scale = assembly_.latent_scale();
  if (callbacks_.preview.kind != PreviewKind::proj) {
    DecodeSize size{height, width, callbacks_.preview.kind == PreviewKind::tae};
    CHIARO_ASSIGN(const TileChoice choice, choose_tile(assembly_, runner_, request_.request.vae_tiling, size, dtype));
    size.tile = choice.tile;
    CHIARO_ASSIGN(const std::vector<float> image, decode_image(assembly_, runner_, size, latents, dtype, options));
    return cropped_picture(request_, image, width * scale);
  }
  if (!colours_) {
    CHIARO_ASSIGN(colours_, fit_latent_colours(assembly_, runner_, options));
  }
  return cropped_picture(request_, coloured_latents(*colours_, latents, height, width, scale), width * scale);
}

Status Previews::show(std::span<const float> x, std::span<const float> denoised, int first, int step, DType dtype,
                      const RunOptions& options) {
  if (failed_ || step % callbacks_.preview.interval != 0) return {};
  const auto one = static_cast<size_t>(assembly_.latent_channels() * request_.latent_height * request_.latent_width);
  Result<Picture> picture = make((callbacks_.preview.noisy ? x : denoised).first(one), dtype, options);
  Status shown;
  if (picture.ok()) {
    picture->seed = request_.request.seed + static_cast<uint64_t>(first);
    shown = callbacks_.on_preview(*picture, first, step);
  } else {
    shown = picture.error();
  }
  if (shown.ok()) return {};
  if (shown.error().code == ErrorCode::cancelled) return shown;
  failed_ = true;
  notices_.push_back("no more previews: " + shown.error().what + "; " + shown.error().why);
  return {};
}

}  // namespace chiaro
