#include "models/clip/config.h"

#include <fmt/format.h>

#include "models/config_reader.h"
#include "weights/printable.h"

namespace chiaro::models {
namespace {

Activation read_activation(ConfigReader& read) {
  const std::string name = read.text("hidden_act", "quick_gelu");
  if (name == "quick_gelu") return Activation::quick_gelu;
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  read.refuse("hidden_act", fmt::format("it is {}; quick_gelu, gelu and gelu_new are known", printable(name)));
  return Activation::quick_gelu;
}

}  // namespace

Result<ClipTextConfig> read_clip_text_config(const JsonConfig& json) {
  ConfigReader read(json);
  read.only_text("model_type", {"clip_text_model"});
  ClipTextConfig c;
  c.vocabulary = read.integer("vocab_size", 49408);
  c.positions = read.integer("max_position_embeddings", 77);
  c.width = read.integer("hidden_size", 512);  // defaults are transformers'
  c.inner_width = read.integer("intermediate_size", 2048);
  c.layers = read.integer("num_hidden_layers", 12, 1, kMaxRepeats);
  c.heads = read.integer("num_attention_heads", 8);
  c.act = read_activation(read);
  c.norm_eps = read.number("layer_norm_eps", 1e-5);
  // For training, for the projection to pictures (not part of these models), or the tokenizer's.
  read.ignore({"architectures", "attention_dropout", "dropout", "initializer_factor", "initializer_range",
               "projection_dim", "bos_token_id", "eos_token_id", "pad_token_id", "torch_dtype", "dtype",
               "transformers_version", "_name_or_path", "use_cache", "output_attentions", "output_hidden_states",
               "return_dict", "gradient_checkpointing"});
  CHIARO_TRY(read.status());
  return c;
}

ClipTextConfig clip_l_config() {
  return {};
}

ClipTextConfig open_clip_h_config() {
  ClipTextConfig c;
  c.width = 1024;
  c.inner_width = 4096;
  c.layers = 23;
  c.heads = 16;  // of 64 numbers each
  c.act = Activation::gelu;
  return c;
}

}  // namespace chiaro::models
