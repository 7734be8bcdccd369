#include "models/synth_folder.h"

#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "models/needs.h"
#include "text/bpe_files.h"
#include "text/clip_tokenizer.h"

namespace chiaro::models {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json unet_json(const SynthSpec& spec) {
  json channels = json::array(), heads = json::array(), down = json::array(), up = json::array();
  for (const UnetLevel& level : spec.unet.levels) {
    channels.push_back(level.channels);
    heads.push_back(level.heads);
    down.push_back(level.down_attention ? "CrossAttnDownBlock2D" : "DownBlock2D");
    up.insert(up.begin(), level.up_attention ? "CrossAttnUpBlock2D" : "UpBlock2D");
  }
  return {{"_class_name", "UNet2DConditionModel"},
          {"in_channels", spec.unet.in_channels},
          {"out_channels", spec.unet.out_channels},
          {"sample_size", spec.unet.sample_size},
          {"block_out_channels", channels},
          {"layers_per_block", spec.unet.top().layers},
          {"attention_head_dim", heads},
          {"cross_attention_dim", spec.unet.top().context},
          {"norm_num_groups", spec.unet.norm_groups},
          {"down_block_types", down},
          {"up_block_types", up},
          {"use_linear_projection", !spec.conv_projections}};
}

json vae_json(const SynthSpec& spec) {
  const size_t n = spec.vae.channels.size();
  return {{"_class_name", "AutoencoderKL"},
          {"in_channels", spec.vae.in_channels},
          {"out_channels", spec.vae.out_channels},
          {"latent_channels", spec.vae.latent_channels},
          {"block_out_channels", spec.vae.channels},
          {"layers_per_block", spec.vae.layers},
          {"norm_num_groups", spec.vae.norm_groups},
          {"scaling_factor", spec.vae.scaling_factor},
          {"sample_size", spec.unet.sample_size * spec.vae.scale()},
          {"down_block_types", json(std::vector<std::string>(n, "DownEncoderBlock2D"))},
          {"up_block_types", json(std::vector<std::string>(n, "UpDecoderBlock2D"))}};
}

json clip_json(const SynthSpec& spec) {
  const ClipTextConfig& c = spec.clip;
  const auto last = c.vocabulary - 1;
  return {{"architectures", {"CLIPTextModel"}},
          {"model_type", "clip_text_model"},
          {"vocab_size", c.vocabulary},
          {"max_position_embeddings", c.positions},
          {"hidden_size", c.width},
          {"intermediate_size", c.inner_width},
          {"num_hidden_layers", c.layers},
          {"num_attention_heads", c.heads},
          {"hidden_act", c.act == Activation::gelu ? "gelu" : "quick_gelu"},
          {"projection_dim", c.width},
          {"bos_token_id", last - 1},
          {"eos_token_id", last},
          {"pad_token_id", spec.open_clip ? 0 : last}};
}

json scheduler_json(const SynthSpec& spec) {
  json config = {{"_class_name", spec.later_code ? "EulerDiscreteScheduler" : "DDIMScheduler"},
                 {"beta_start", 0.00085},
                 {"beta_end", 0.012},
                 {"beta_schedule", "scaled_linear"},
                 {"num_train_timesteps", 1000},
                 {"steps_offset", 1},
                 {"timestep_spacing", spec.later_code ? "trailing" : "leading"},
                 {"prediction_type", spec.v_prediction ? "v_prediction" : "epsilon"}};
  if (!spec.later_code) config.update({{"clip_sample", false}, {"set_alpha_to_one", false}});
  return config;
}

json index_json(const SynthSpec& spec) {
  return {{"_class_name", "StableDiffusionPipeline"},
          {"scheduler", {"diffusers", scheduler_json(spec).at("_class_name")}},
          {"text_encoder", {"transformers", "CLIPTextModel"}},
          {"tokenizer", {"transformers", "CLIPTokenizer"}},
          {"unet", {"diffusers", "UNet2DConditionModel"}},
          {"vae", {"diffusers", "AutoencoderKL"}}};
}

// vocab.json, merges.txt and the special tokens, from the merges alone.
Status write_tokenizer(const SynthRequest& request, const fs::path& folder) {
  CHIARO_ASSIGN(const auto file, MappedFile::open(request.merges));
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const ClipTokenizerOptions options;
  const std::string name = path_to_utf8(request.merges);
  CHIARO_ASSIGN(const BpeVocab vocab,
                vocab_from_merges({name, text}, kClipMerges, options.end_of_word, {options.bos, options.eos}));
  json ids = json::object();
  for (size_t id = 0; id < vocab.tokens.size(); ++id) ids[vocab.tokens[id]] = id;
  const json tokens = {{"bos_token", options.bos},
                       {"eos_token", options.eos},
                       {"unk_token", options.unk},
                       {"pad_token", request.spec.open_clip ? "!" : options.pad}};
  json config = tokens;
  config.update({{"tokenizer_class", "CLIPTokenizer"}, {"model_max_length", request.spec.clip.positions}});
  CHIARO_TRY(write_file(folder / "vocab.json", ids.dump()));
  CHIARO_TRY(write_file(folder / "merges.txt", std::string(text)));
  CHIARO_TRY(write_file(folder / "special_tokens_map.json", tokens.dump(2)));
  return write_file(folder / "tokenizer_config.json", config.dump(2));
}

Result<SynthFile> network_file(const SynthRequest& request, const fs::path& path, const Result<WeightShapes>& needs,
                               bool conv_projections) {
  if (!needs.ok()) return needs.error();
  SynthFile file{path, {}, {{"format", "pt"}}};
  for (const auto& [name, shape] : *needs) {
    Shape stored = shape;
    if (conv_projections && (name.ends_with(".proj_in.weight") || name.ends_with(".proj_out.weight"))) {
      while (stored.rank() < 4) stored.push_back(1);
    }
    file.tensors.push_back({name, dense(synth_dtype(stored, request.type), stored)});
  }
  return file;
}

Status write_folder(const SynthRequest& request, const fs::path& folder, SynthProgress& progress) {
  const SynthSpec& spec = request.spec;
  std::error_code ec;
  for (const char* name : {"unet", "vae", "text_encoder", "scheduler", "tokenizer"}) {
    if (!fs::create_directories(folder / name, ec) || ec) {
      return Error{ErrorCode::io, "cannot make the folder " + path_to_utf8(folder / name), ec.message(),
                   "choose another place", path_to_utf8(folder)};
    }
  }
  std::vector<SynthFile> files;
  CHIARO_ASSIGN(SynthFile unet, network_file(request, folder / "unet/diffusion_pytorch_model.safetensors",
                                             unet_needs(spec.unet), spec.conv_projections));
  CHIARO_ASSIGN(SynthFile vae,
                network_file(request, folder / "vae/diffusion_pytorch_model.safetensors", vae_needs(spec.vae), false));
  CHIARO_ASSIGN(SynthFile clip,
                network_file(request, folder / "text_encoder/model.safetensors", clip_text_needs(spec.clip), false));
  for (SynthFile* file : {&unet, &vae, &clip}) progress.total += bytes_of(file->tensors);
  CHIARO_TRY(write_tokenizer(request, folder / "tokenizer"));
  CHIARO_TRY(write_file(folder / "unet/config.json", unet_json(spec).dump(2)));
  CHIARO_TRY(write_file(folder / "vae/config.json", vae_json(spec).dump(2)));
  CHIARO_TRY(write_file(folder / "text_encoder/config.json", clip_json(spec).dump(2)));
  CHIARO_TRY(write_file(folder / "scheduler/scheduler_config.json", scheduler_json(spec).dump(2)));
  for (SynthFile* file : {&unet, &vae, &clip}) CHIARO_TRY(write_synth_file(request, std::move(*file), progress));
  return write_file(folder / "model_index.json", index_json(spec).dump(2));
}

}  // namespace

Result<SynthReport> synthesize_folder(const SynthRequest& request) {
  std::error_code ec;
  if (fs::exists(request.out, ec)) {
    return Error{ErrorCode::usage, path_to_utf8(request.out) + " is there already", "a new folder is made, or a file",
                 "choose another name, or one that ends in .safetensors", path_to_utf8(request.out)};
  }
  fs::path unfinished = request.out;
  unfinished += ".unfinished";
  fs::remove_all(unfinished, ec);
  SynthProgress progress;
  Status written = write_folder(request, unfinished, progress);
  if (written.ok()) {
    fs::rename(unfinished, request.out, ec);
    if (ec) {
      written = Error{ErrorCode::io, "cannot make the folder " + path_to_utf8(request.out), ec.message(),
                      "choose another place", path_to_utf8(request.out)};
    }
  }
  if (written.ok()) return progress.report;
  fs::remove_all(unfinished, ec);
  return std::move(written).error();
}

}  // namespace chiaro::models
