#include "models/unet/config.h"

#include <fmt/format.h>

#include "models/config_reader.h"
#include "weights/printable.h"

namespace chiaro::models {
namespace {

// Settings of other families of UNets. Each would change the forward pass, so each must be at its neutral value.
void refuse_other_families(ConfigReader& read) {
  read.only_text("_class_name", {"UNet2DConditionModel"});
  read.only_text("act_fn", {"silu", "swish"});
  read.only_text("mid_block_type", {"UNetMidBlock2DCrossAttn"});
  read.only_text("resnet_time_scale_shift", {"default"});
  read.only_text("time_embedding_type", {"positional"});
  read.only_text("attention_type", {"default"});
  for (const auto* key :
       {"class_embed_type", "num_class_embeds", "encoder_hid_dim", "encoder_hid_dim_type", "time_cond_proj_dim",
        "timestep_post_act", "time_embedding_act_fn", "cross_attention_norm", "num_attention_heads",
        "reverse_transformer_layers_per_block", "mid_block_only_cross_attention"}) {
    read.only_null(key);
  }
  for (const auto* key :
       {"dual_cross_attention", "only_cross_attention", "resnet_skip_time_act", "class_embeddings_concat"}) {
    read.only_flag(key, false);
  }
  for (const auto* key : {"mid_block_scale_factor", "resnet_out_scale_factor"}) read.only_number(key, 1);
  // Numbers for training, for class embeddings (refused above), or for half-precision scores (ours are f32 always).
  // use_linear_projection only says whether projections are stored [O,I] or [O,I,1,1]: both serve here.
  read.ignore({"_diffusers_version", "_name_or_path", "dropout", "upcast_attention", "use_linear_projection",
               "addition_embed_type_num_heads"});
}

void read_added_conditions(ConfigReader& read, UnetConfig& c) {
  const std::string type = read.text("addition_embed_type", "");
  if (type.empty()) return read.ignore({"addition_time_embed_dim", "projection_class_embeddings_input_dim"});
  if (type != "text_time")
    read.refuse("addition_embed_type", fmt::format("it is {}; text_time is known", printable(type)));
  c.added_time_dim = read.integer("addition_time_embed_dim", 256, 2);
  c.added_width = read.integer("projection_class_embeddings_input_dim", 2816);
}

// Whether each block has attention; `with` and `without` are the names of the two kinds.
std::vector<bool> attention_of(ConfigReader& read, const char* key, size_t count, std::string_view with,
                               std::string_view without, std::vector<std::string> otherwise) {
  const std::vector<std::string> types = read.names(key, std::move(otherwise));
  std::vector<bool> attention(count);
  if (types.size() != count) {
    read.refuse(key, fmt::format("it names {} blocks for {} levels", types.size(), count),
                "use the configuration that came with the model");
    return attention;
  }
  for (size_t i = 0; i < count; ++i) {
    attention[i] = types[i] == with;
    if (types[i] == with || types[i] == without) continue;
    read.refuse(key, fmt::format("it names {}; {} and {} are known", printable(types[i]), without, with));
  }
  return attention;
}

}  // namespace

Result<UnetConfig> read_unet_config(const JsonConfig& json) {
  ConfigReader read(json);
  refuse_other_families(read);
  UnetConfig c;
  c.in_channels = read.integer("in_channels", 4);
  c.out_channels = read.integer("out_channels", 4);
  c.flip_sin_to_cos = read.flag("flip_sin_to_cos", true);
  c.freq_shift = read.number("freq_shift", 0);
  c.center_input_sample = read.flag("center_input_sample", false);
  c.norm_groups = read.integer("norm_num_groups", 32);
  c.norm_eps = read.number("norm_eps", 1e-5);
  c.conv_in_kernel = read.integer("conv_in_kernel", 3, 1, 15);
  c.conv_out_kernel = read.integer("conv_out_kernel", 3, 1, 15);
  c.downsample_padding = read.integer("downsample_padding", 1, 0, 1);
  c.sample_size = read.levels("sample_size", {64}).front();
  if (json.kind("norm_num_groups") == JsonKind::null) {
    read.refuse("norm_num_groups", "a UNet without a last normalisation is not known");
  }
  if (c.conv_in_kernel % 2 == 0) read.refuse("conv_in_kernel", "an even kernel changes the size of the picture");
  if (c.conv_out_kernel % 2 == 0) read.refuse("conv_out_kernel", "an even kernel changes the size of the picture");

  const std::vector<int64_t> channels = read.levels("block_out_channels", {320, 640, 1280, 1280});
  const size_t n = channels.size();
  const auto layers = read.each("layers_per_block", n, 2, 1, kMaxRepeats);
  const auto heads = read.each("attention_head_dim", n, 8);
  const auto context = read.each("cross_attention_dim", n, 1280);
  const auto depth = read.each("transformer_layers_per_block", n, 1, 1, kMaxRepeats);
  const auto down =
      attention_of(read, "down_block_types", n, "CrossAttnDownBlock2D", "DownBlock2D",
                   {"CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"});
  const auto up = attention_of(read, "up_block_types", n, "CrossAttnUpBlock2D", "UpBlock2D",
                               {"UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"});
  for (size_t i = 0; i < n; ++i) {
    c.levels.push_back({channels[i], layers[i], heads[i], context[i], depth[i], down[i], up[n - 1 - i]});
  }
  read_added_conditions(read, c);
  c.time_dim = read.integer("time_embedding_dim", 4 * channels[0]);
  CHIARO_TRY(read.status());
  return c;
}

UnetConfig sd1_unet_config() {
  UnetConfig c;
  c.levels = {{.channels = 320, .down_attention = true, .up_attention = true},
              {.channels = 640, .down_attention = true, .up_attention = true},
              {.channels = 1280, .down_attention = true, .up_attention = true},
              {.channels = 1280}};
  return c;
}

UnetConfig sd2_unet_config() {
  constexpr int64_t kHeadWidth = 64, kTextWidth = 1024;
  UnetConfig c = sd1_unet_config();
  for (UnetLevel& level : c.levels) {
    level.heads = level.channels / kHeadWidth;
    level.context = kTextWidth;
  }
  return c;
}

}  // namespace chiaro::models
