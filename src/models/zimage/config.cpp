#include "models/zimage/config.h"

#include <fmt/format.h>

#include <numeric>

#include "models/config_reader.h"

namespace chiaro::models {
namespace {

// What the network cannot do without: heads that divide the width, axes that fill a head in pairs.
void check_heads(ConfigReader& read, const ZImageConfig& c) {
  if (c.width % c.heads != 0) {
    return read.refuse("n_heads", fmt::format("{} heads do not divide {} numbers", c.heads, c.width));
  }
  if (c.axes.size() != 3) return read.refuse("axes_dims", fmt::format("it names {} axes of 3", c.axes.size()));
  if (c.positions.size() != 3)
    return read.refuse("axes_lens", fmt::format("it names {} axes of 3", c.positions.size()));
  for (const int64_t dim : c.axes) {
    if (dim % 2 != 0) read.refuse("axes_dims", fmt::format("it holds {}; pairs are turned", dim));
  }
  const int64_t sum = std::accumulate(c.axes.begin(), c.axes.end(), int64_t{0});
  if (sum != c.head_width()) {
    read.refuse("axes_dims", fmt::format("the axes have {} numbers together, a head {}", sum, c.head_width()));
  }
}

}  // namespace

Result<ZImageConfig> read_zimage_config(const JsonConfig& json) {
  ConfigReader read(json);
  read.only_text("_class_name", {"ZImageTransformer2DModel"});
  ZImageConfig c;
  c.in_channels = read.integer("in_channels", 16);
  const std::vector<int64_t> patches = read.levels("all_patch_size", {2});
  const std::vector<int64_t> frames = read.levels("all_f_patch_size", {1});
  if (patches.size() != 1) read.refuse("all_patch_size", "one size of patches is known");
  if (frames.size() != 1 || frames[0] != 1) read.refuse("all_f_patch_size", "patches of one frame are known");
  c.patch = patches[0];
  c.width = read.integer("dim", 3840);
  c.layers = read.integer("n_layers", 30, 1, kMaxRepeats);
  c.refiner_layers = read.integer("n_refiner_layers", 2, 0, kMaxRepeats);
  c.heads = read.integer("n_heads", 30);
  if (read.integer("n_kv_heads", c.heads) != c.heads) read.refuse("n_kv_heads", "as many as n_heads are known");
  c.norm_eps = read.number("norm_eps", 1e-5);
  c.qk_norm = read.flag("qk_norm", true);
  c.context_width = read.integer("cap_feat_dim", 2560);
  c.rope_theta = read.number("rope_theta", 256);
  c.time_scale = read.number("t_scale", 1000);
  c.axes = read.levels("axes_dims", {32, 48, 48});
  c.positions = read.levels("axes_lens", {1024, 512, 512});
  check_heads(read, c);
  read.ignore({"_diffusers_version", "_name_or_path"});
  CHIARO_TRY(read.status());
  return c;
}

}  // namespace chiaro::models
