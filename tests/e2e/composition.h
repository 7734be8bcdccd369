// Whether a picture shows what its prompt names: background colour and nearest object, as tests/golden/tiny/README.md
// describes the measure ("Composition").
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chiaro/chiaro.h"

namespace chiaro::testing {

using Colour = std::array<float, 3>;  // RGB in 0..1

struct FloatImage {
  int width = 0, height = 0;
  std::vector<float> rgb;  // row by row, 0..1
  const float* at(int x, int y) const { return &rgb[(static_cast<size_t>(y) * static_cast<size_t>(width) + x) * 3]; }
};
FloatImage to_float(const Picture& picture);

struct Region {  // fractions of the picture
  double x0 = 0, y0 = 0, x1 = 1, y1 = 1;
};

// A look: 24x24 cells of RGB.
inline constexpr int kGrid = 24;
using Look = std::vector<float>;

// Premultiplied RGBA squares, one per object.
struct Sprites {
  int count = 0, side = 0;
  std::vector<uint8_t> rgba;
};

// Step 1: per channel the lower median of the pixels within 5 of an edge.
Colour background_of(const FloatImage& image);
// The palette entry (0..255) nearest to `colour`.
size_t nearest_colour(const Colour& colour, std::span<const std::array<double, 3>> palette);
// Steps 2 to 4: what stands out from `bg` inside `region`; nothing where less than 0.4 % does.
std::optional<Look> look_in(const FloatImage& image, const Region& region, const Colour& bg);
// Step 5, for every object.
std::vector<Look> looks_of(const Sprites& sprites, const Colour& bg);
// Step 6.
double distance(const Look& a, const Look& b);
// How many objects are nearer to `look` than `wanted`: 0 is right. Nothing found counts as all of them.
size_t rank_of(size_t wanted, const std::optional<Look>& look, std::span<const Look> looks);

// The objects that the shipped model knows.
const Sprites& sprites();

// tests/golden/tiny/prompts.json, or `most` of its prompts, evenly spread.
nlohmann::json golden_compositions(size_t most);

struct Score {
  int pictures = 0, backgrounds = 0, objects = 0, right = 0;
};
// Makes a picture of each prompt (8 steps of DDIM) and judges it; prints what is wrong. `made`: where to keep them.
Score score_prompts(Session& session, const nlohmann::json& compositions, std::vector<Picture>* made = nullptr);

}  // namespace chiaro::testing
