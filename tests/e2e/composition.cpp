#include "composition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "shipped_model.h"

namespace chiaro::testing {
namespace {

constexpr int kRing = 5, kFine = 48, kSamples = 4;
constexpr float kThreshold = 0.13F;
constexpr double kLeastForeground = 0.004;

struct Box {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // ends exclusive
};

// One cell of a resampled axis: pixels first, first + 1, ... with their weights.
struct Cell {
  int first = 0;
  std::vector<double> weights;
};

// `cells` over [start, start + side), each the mean of `samples` bilinear samples; pixels outside weigh nothing.
std::vector<Cell> cut_axis(double start, double side, int cells, int samples, int size) {
  std::vector<Cell> out(static_cast<size_t>(cells));
  for (int c = 0; c < cells; ++c) {
    Cell& cell = out[static_cast<size_t>(c)];
    for (int s = 0; s < samples; ++s) {
      const double position = start + (c * samples + s + 0.5) * side / (cells * samples) - 0.5;
      const double floor = std::floor(position);
      for (const int step : {0, 1}) {
        const int pixel = static_cast<int>(floor) + step;
        const double weight = step == 0 ? 1 - (position - floor) : position - floor;
        if (pixel < 0 || pixel >= size) continue;
        if (cell.weights.empty()) cell.first = pixel;
        cell.weights.resize(std::max(cell.weights.size(), static_cast<size_t>(pixel - cell.first) + 1), 0.0);
        cell.weights[static_cast<size_t>(pixel - cell.first)] += weight / samples;
      }
    }
  }
  return out;
}

// image - bg sampled at columns x rows, plus bg.
FloatImage resample(const FloatImage& image, const Colour& bg, const std::vector<Cell>& columns,
                    const std::vector<Cell>& rows) {
  const size_t width = columns.size(), height = rows.size();
  std::vector<double> across(static_cast<size_t>(image.height) * width * 3, 0.0);
  for (int y = 0; y < image.height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      double* sum = &across[(static_cast<size_t>(y) * width + x) * 3];
      for (size_t k = 0; k < columns[x].weights.size(); ++k) {
        const float* pixel = image.at(columns[x].first + static_cast<int>(k), y);
        for (size_t c = 0; c < 3; ++c) sum[c] += columns[x].weights[k] * (pixel[c] - bg[c]);
      }
    }
  }
  FloatImage out{static_cast<int>(width), static_cast<int>(height), std::vector<float>(width * height * 3)};
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width * 3; ++x) {
      double sum = 0;
      for (size_t k = 0; k < rows[y].weights.size(); ++k) {
        sum += rows[y].weights[k] * across[(static_cast<size_t>(rows[y].first) + k) * width * 3 + x];
      }
      out.rgb[y * width * 3 + x] = static_cast<float>(sum) + bg[x % 3];
    }
  }
  return out;
}

// Step 2: 1 where a pixel is foreground.
std::vector<uint8_t> foreground(const FloatImage& image, const Colour& bg) {
  const int w = image.width, h = image.height;
  const auto index = [w](int x, int y) { return static_cast<size_t>(y) * static_cast<size_t>(w) + x; };
  std::vector<uint8_t> raw(static_cast<size_t>(w) * static_cast<size_t>(h)), mask(raw.size());
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      const float* p = image.at(x, y);
      bool far = false;
      for (size_t c = 0; c < 3; ++c) far = far || std::abs(p[c] - bg[c]) > kThreshold;
      raw[index(x, y)] = far ? 1 : 0;
    }
  }
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      int around = 0;
      for (int v = std::max(y - 1, 0); v <= std::min(y + 1, h - 1); ++v) {
        for (int u = std::max(x - 1, 0); u <= std::min(x + 1, w - 1); ++u) around += raw[index(u, v)];
      }
      mask[index(x, y)] = around >= 5 ? 1 : 0;
    }
  }
  return mask;
}

std::optional<Box> box_of(const std::vector<uint8_t>& mask, int width, int height) {
  Box box{width, height, 0, 0};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (mask[static_cast<size_t>(y) * static_cast<size_t>(width) + x] == 0) continue;
      box = {std::min(box.x0, x), std::min(box.y0, y), std::max(box.x1, x + 1), std::max(box.y1, y + 1)};
    }
  }
  if (box.x1 == 0) return std::nullopt;
  return box;
}

// Step 3.
Look crop(const FloatImage& image, const Colour& bg, const Box& box) {
  const double side = std::max(box.x1 - box.x0, box.y1 - box.y0);
  const auto columns = cut_axis((box.x0 + box.x1) / 2.0 - side / 2, side, kGrid, kSamples, image.width);
  const auto rows = cut_axis((box.y0 + box.y1) / 2.0 - side / 2, side, kGrid, kSamples, image.height);
  return resample(image, bg, columns, rows).rgb;
}

FloatImage cut_out(const FloatImage& image, const Region& region) {
  const int x0 = static_cast<int>(std::nearbyint(region.x0 * image.width));
  const int x1 = static_cast<int>(std::nearbyint(region.x1 * image.width));
  const int y0 = static_cast<int>(std::nearbyint(region.y0 * image.height));
  const int y1 = static_cast<int>(std::nearbyint(region.y1 * image.height));
  FloatImage part{x1 - x0, y1 - y0, {}};
  for (int y = y0; y < y1; ++y) part.rgb.insert(part.rgb.end(), image.at(x0, y), image.at(x0, y) + part.width * 3);
  return part;
}

Look look_of(const Sprites& sprites, int index, const Colour& bg) {
  const auto side = static_cast<size_t>(sprites.side);
  FloatImage flat{sprites.side, sprites.side, std::vector<float>(side * side * 3)};
  const uint8_t* rgba = &sprites.rgba[static_cast<size_t>(index) * side * side * 4];
  for (size_t i = 0; i < side * side; ++i) {
    const float alpha = static_cast<float>(rgba[i * 4 + 3]) / 255.0F;
    for (size_t c = 0; c < 3; ++c) {
      flat.rgb[i * 3 + c] = static_cast<float>(rgba[i * 4 + c]) / 255.0F + (1 - alpha) * bg[c];
    }
  }
  const auto axis = cut_axis(0, sprites.side, kFine, 1, sprites.side);
  const FloatImage fine = resample(flat, bg, axis, axis);
  const auto box = box_of(foreground(fine, bg), kFine, kFine);
  if (box) return crop(fine, bg, *box);
  Look plain;
  for (int i = 0; i < kGrid * kGrid; ++i) plain.insert(plain.end(), bg.begin(), bg.end());
  return plain;
}

// U8 is no weight type, so the engine's own reader leaves the tensor out; this reads the one tensor of the file.
Sprites read_sprites() {
  std::ifstream file(source_path("tests/golden/tiny/sprites.safetensors"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  size_t header = 0;
  for (size_t i = 0; i < 8; ++i) header |= static_cast<size_t>(static_cast<uint8_t>(bytes.at(i))) << (8 * i);
  const auto tensor = nlohmann::json::parse(bytes.substr(8, header)).at("sprites");
  const auto shape = tensor.at("shape").get<std::vector<int>>();
  const auto range = tensor.at("data_offsets").get<std::vector<size_t>>();
  Sprites s{shape.at(0), shape.at(1), {}};
  s.rgba.assign(bytes.begin() + static_cast<int64_t>(8 + header + range.at(0)),
                bytes.begin() + static_cast<int64_t>(8 + header + range.at(1)));
  return s;
}

void judge(const nlohmann::json& wanted, const std::vector<std::string>& names,
           std::span<const std::array<double, 3>> palette, const Picture& picture, Score& score) {
  const FloatImage image = to_float(picture);
  const Colour bg = background_of(image);
  ++score.pictures;
  const std::string found = names[nearest_colour(bg, palette)];
  const bool background = found == wanted.at("background").get<std::string>();
  score.backgrounds += background ? 1 : 0;
  if (!background)
    std::printf("  %s: the background is %s\n", wanted.at("prompt").get<std::string>().c_str(), found.c_str());
  const auto looks = looks_of(sprites(), bg);
  for (const auto& object : wanted.at("objects")) {
    const auto r = object.at("region").get<std::array<double, 4>>();
    const size_t rank = rank_of(object.at("index").get<size_t>(), look_in(image, {r[0], r[1], r[2], r[3]}, bg), looks);
    ++score.objects;
    score.right += rank == 0 ? 1 : 0;
    if (rank > 0) {
      std::printf("  %s: %zu objects are nearer than the %s\n", wanted.at("prompt").get<std::string>().c_str(), rank,
                  object.at("name").get<std::string>().c_str());
    }
  }
}

}  // namespace

const Sprites& sprites() {
  static const Sprites all = read_sprites();
  return all;
}

FloatImage to_float(const Picture& picture) {
  FloatImage image{picture.width, picture.height, {}};
  image.rgb.reserve(picture.rgb.size());
  for (const uint8_t value : picture.rgb) image.rgb.push_back(static_cast<float>(value) / 255.0F);
  return image;
}

Colour background_of(const FloatImage& image) {
  std::array<std::vector<float>, 3> edge;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (x >= kRing && x < image.width - kRing && y >= kRing && y < image.height - kRing) continue;
      for (size_t c = 0; c < 3; ++c) edge[c].push_back(image.at(x, y)[c]);
    }
  }
  Colour bg{};
  for (size_t c = 0; c < 3; ++c) {
    std::sort(edge[c].begin(), edge[c].end());
    bg[c] = edge[c][(edge[c].size() - 1) / 2];
  }
  return bg;
}

size_t nearest_colour(const Colour& colour, std::span<const std::array<double, 3>> palette) {
  const auto squared = [&](const std::array<double, 3>& entry) {
    double sum = 0;
    for (size_t c = 0; c < 3; ++c) sum += (255.0 * colour[c] - entry[c]) * (255.0 * colour[c] - entry[c]);
    return sum;
  };
  return static_cast<size_t>(std::min_element(palette.begin(), palette.end(),
                                              [&](const auto& a, const auto& b) { return squared(a) < squared(b); }) -
                             palette.begin());
}

std::optional<Look> look_in(const FloatImage& image, const Region& region, const Colour& bg) {
  const FloatImage part = cut_out(image, region);
  const std::vector<uint8_t> mask = foreground(part, bg);
  const auto pixels = std::count(mask.begin(), mask.end(), uint8_t{1});
  if (static_cast<double>(pixels) < kLeastForeground * static_cast<double>(mask.size())) return std::nullopt;
  const auto box = box_of(mask, part.width, part.height);
  if (!box) return std::nullopt;
  return crop(part, bg, *box);
}

std::vector<Look> looks_of(const Sprites& sprites, const Colour& bg) {
  std::vector<Look> looks;
  for (int i = 0; i < sprites.count; ++i) looks.push_back(look_of(sprites, i, bg));
  return looks;
}

double distance(const Look& a, const Look& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(double{a[i]} - double{b[i]});
  return sum / static_cast<double>(a.size());
}

size_t rank_of(size_t wanted, const std::optional<Look>& look, std::span<const Look> looks) {
  if (!look) return looks.size();
  const double own = distance(*look, looks[wanted]);
  return static_cast<size_t>(
      std::count_if(looks.begin(), looks.end(), [&](const Look& other) { return distance(*look, other) < own; }));
}

nlohmann::json golden_compositions(size_t most) {
  std::ifstream file(source_path("tests/golden/tiny/prompts.json"));
  auto json = nlohmann::json::parse(file);
  const nlohmann::json all = json.at("prompts");
  if (most >= all.size()) return json;
  json["prompts"] = nlohmann::json::array();
  for (size_t i = 0; i < most; ++i) json["prompts"].push_back(all.at(i * all.size() / most));
  return json;
}

Score score_prompts(Session& session, const nlohmann::json& compositions, std::vector<Picture>* made) {
  std::vector<std::string> names;
  std::vector<std::array<double, 3>> palette;
  for (const auto& [name, colour] : compositions.at("palette").items()) {
    names.push_back(name);
    palette.push_back(colour.get<std::array<double, 3>>());
  }
  Score score;
  for (const auto& wanted : compositions.at("prompts")) {
    GenerateRequest request;
    request.prompt = wanted.at("prompt").get<std::string>();
    request.seed = wanted.at("seed").get<uint64_t>();
    request.cfg_scale = compositions.at("guidance").get<double>();
    request.sampling_method = "ddim";
    request.steps = 8;
    auto pictures = pictures_of(session, request);
    if (pictures.size() != 1) return score;
    judge(wanted, names, palette, pictures[0], score);
    if (made != nullptr) made->push_back(std::move(pictures[0]));
  }
  return score;
}

}  // namespace chiaro::testing
