#include "models/qwen_text/config.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "models/config_reader.h"
#include "weights/printable.h"

namespace chiaro::models {
namespace {

// What the network needs of its numbers, in values. Empty where all is well.
std::string misfit(const QwenTextConfig& c) {
  if (!(c.rope_theta > 0) || !std::isfinite(c.rope_theta)) return fmt::format("positions of base {}", c.rope_theta);
  if (!(c.norm_eps >= 0) || !std::isfinite(c.norm_eps)) return fmt::format("norms with {}", c.norm_eps);
  if (c.heads % c.kv_heads != 0)
    return fmt::format("{} heads of keys do not divide {} of queries", c.kv_heads, c.heads);
  if (c.head_width % 2 != 0) return fmt::format("heads of {} numbers; pairs are turned", c.head_width);
  return {};
}

// How positions become angles. Positions over several axes ("mrope") are alike on all of them where there is text
// alone, so that sections make no difference.
void read_rope(const JsonConfig& json, ConfigReader& read, QwenTextConfig& c) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (json.kind(key) != JsonKind::object) {
      read.only_null(key);
      continue;
    }
    const auto inner = json.child(key);
    if (!inner.ok()) return read.refuse(key, inner.error().why);
    ConfigReader rope(*inner);
    rope.only_text("type", {"default", "mrope"});
    rope.only_text("rope_type", {"default", "mrope"});
    rope.ignore({"mrope_section"});
    c.rope_theta = rope.number("rope_theta", c.rope_theta);
    if (!rope.status().ok()) return read.refuse(key, rope.status().error().why);
  }
}

void check_layers(ConfigReader& read, const QwenTextConfig& c) {
  read.only_flag("use_sliding_window", false);
  const std::vector<std::string> every(static_cast<size_t>(c.layers), "full_attention");
  if (read.names("layer_types", every) != every) {
    read.refuse("layer_types", "attention to all earlier tokens is known");
  }
}

Result<QwenTextConfig> read_text(const JsonConfig& json, bool qwen3) {
  ConfigReader read(json);
  read.only_text("hidden_act", {"silu"});
  QwenTextConfig c = qwen3 ? qwen3_4b_config() : qwen25_vl_7b_config();
  c.vocabulary = read.integer("vocab_size", c.vocabulary);
  c.width = read.integer("hidden_size", c.width);
  c.inner_width = read.integer("intermediate_size", c.inner_width);
  c.layers = read.integer("num_hidden_layers", c.layers, 1, kMaxRepeats);
  c.heads = read.integer("num_attention_heads", c.heads);
  c.kv_heads = read.integer("num_key_value_heads", c.kv_heads);
  c.head_width = read.integer("head_dim", qwen3 ? 128 : c.width / c.heads);
  c.norm_eps = read.number("rms_norm_eps", c.norm_eps);
  c.rope_theta = read.number("rope_theta", c.rope_theta);
  if (qwen3) c.qkv_bias = read.flag("attention_bias", false);
  if (qwen3 && c.qkv_bias) read.refuse("attention_bias", "projections without biases are known");
  read_rope(json, read, c);
  check_layers(read, c);
  if (const std::string why = misfit(c); !why.empty()) read.refuse("num_attention_heads", why);
  // Of training and of writing texts; of windows, which are off; of pictures as input.
  read.ignore({"architectures",
               "attention_dropout",
               "bos_token_id",
               "eos_token_id",
               "pad_token_id",
               "torch_dtype",
               "dtype",
               "transformers_version",
               "_name_or_path",
               "use_cache",
               "initializer_range",
               "max_position_embeddings",
               "max_window_layers",
               "sliding_window",
               "tie_word_embeddings",
               "model_type",
               "image_token_id",
               "video_token_id",
               "vision_token_id",
               "vision_start_token_id",
               "vision_end_token_id"});
  CHIARO_TRY(read.status());
  return c;
}

}  // namespace

QwenTextConfig qwen3_4b_config() {
  return {};
}

QwenTextConfig qwen25_vl_7b_config() {
  QwenTextConfig c;
  c.vocabulary = 152064;
  c.width = 3584;
  c.inner_width = 18944;
  c.layers = 28;
  c.heads = 28;
  c.kv_heads = 4;
  c.qk_norm = false;
  c.qkv_bias = true;
  return c;
}

Result<QwenTextConfig> read_qwen_text_config(const JsonConfig& json) {
  CHIARO_ASSIGN(const std::string kind, json.get_string("model_type", ""));
  const bool qwen3 = kind == "qwen3";
  if (!qwen3 && kind != "qwen2_5_vl" && kind != "qwen2_5_vl_text") {
    return Error{ErrorCode::unsupported, "a text model of type " + printable(kind), "qwen3 and qwen2_5_vl are known",
                 "use the text encoder that came with the model", json.where()};
  }
  if (json.kind("text_config") != JsonKind::object) {
    json.ignore("vision_config");
    return read_text(json, qwen3);
  }
  for (const std::string& key : json.keys()) {
    if (key != "text_config") json.ignore(key);
  }
  CHIARO_ASSIGN(const JsonConfig text, json.child("text_config"));
  return read_text(text, qwen3);
}

Result<QwenTextConfig> read_qwen_text_gguf(const GgufMetadata& metadata, int64_t vocabulary) {
  CHIARO_ASSIGN(const std::string kind, metadata.get_text("general.architecture"));
  if (kind != "qwen3" && kind != "qwen2vl") {
    return Error{ErrorCode::unsupported, "a text model of architecture " + printable(kind),
                 "qwen3 and qwen2vl are known", "use the text encoder that came with the model", ""};
  }
  const auto integer = [&](const char* key, int64_t& out) -> Status {
    CHIARO_ASSIGN(const int64_t value, metadata.get_integer(kind + "." + key));
    if (value >= 1 && value <= kMaxConfigInt) {
      out = value;
      return {};
    }
    return Error{ErrorCode::bad_file, "metadata of the text model is refused",
                 fmt::format("{}.{} is {}", kind, key, value), "use another copy of the file", ""};
  };
  QwenTextConfig c = kind == "qwen3" ? qwen3_4b_config() : qwen25_vl_7b_config();
  c.vocabulary = vocabulary;
  CHIARO_TRY(integer("block_count", c.layers));
  CHIARO_TRY(integer("embedding_length", c.width));
  CHIARO_TRY(integer("feed_forward_length", c.inner_width));
  CHIARO_TRY(integer("attention.head_count", c.heads));
  CHIARO_TRY(integer("attention.head_count_kv", c.kv_heads));
  c.head_width = c.width / c.heads;  // where no length is given
  if (metadata.find(kind + ".attention.key_length") != nullptr) {
    CHIARO_TRY(integer("attention.key_length", c.head_width));
  }
  CHIARO_ASSIGN(c.norm_eps, metadata.get_number(kind + ".attention.layer_norm_rms_epsilon"));
  if (metadata.find(kind + ".rope.freq_base") != nullptr) {
    CHIARO_ASSIGN(c.rope_theta, metadata.get_number(kind + ".rope.freq_base"));
  }
  const std::string why = c.layers > kMaxRepeats ? fmt::format("it has {} layers", c.layers) : misfit(c);
  if (!why.empty()) {
    return Error{ErrorCode::bad_file, "metadata of the text model is refused", why, "use another copy of the file", ""};
  }
  if (metadata.find(kind + ".rope.scaling.type") == nullptr) return c;
  CHIARO_ASSIGN(const std::string scaling, metadata.get_text(kind + ".rope.scaling.type"));
  if (scaling == "none") return c;
  return Error{ErrorCode::unsupported, "the text model scales its positions", printable(scaling) + " is not known here",
               "use a copy of the file as it was published", ""};
}

}  // namespace chiaro::models
