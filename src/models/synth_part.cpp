#include "models/synth_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/checkpoint.h"
#include "models/needs.h"
#include "models/qwen_text/manifest.h"
#include "models/synth_folder.h"
#include "models/zimage/manifest.h"
#include "text/bpe.h"
#include "text/unicode.h"

namespace chiaro::models {
namespace {

struct PartName {
  SynthPart part;
  std::string_view name, title, architecture;
};
constexpr std::array<PartName, 6> kParts{{
    {SynthPart::zimage, "zimage", "Z-Image", "lumina2"},
    {SynthPart::qwen_image, "qwen-image", "Qwen-Image", "qwen_image"},
    {SynthPart::qwen3_4b, "qwen3-4b", "Qwen3-4B", "qwen3"},
    {SynthPart::qwen25_vl_7b, "qwen2.5-vl-7b", "Qwen2.5-VL-7B", "qwen2vl"},
    {SynthPart::flux_vae, "flux-vae", "Autoencoder of Flux", ""},
    {SynthPart::qwen_image_vae, "qwen-image-vae", "Autoencoder of Qwen-Image", ""},
}};

const PartName& entry_of(SynthPart part) {
  return *std::find_if(kParts.begin(), kParts.end(), [&](const PartName& p) { return p.part == part; });
}

bool is_text(SynthPart part) {
  return part == SynthPart::qwen3_4b || part == SynthPart::qwen25_vl_7b;
}

Status check_type(DType type) {
  if (type == DType::f32 || type == DType::f16 || type == DType::bf16 || type == DType::f8_e4m3 ||
      type == DType::f8_e5m2) {
    return {};
  }
  return Error{ErrorCode::usage, fmt::format("random weights of type {} are not made", dtype_name(type)), "",
               "use f32, f16, bf16, f8_e4m3 or f8_e5m2, or convert the file afterwards", ""};
}

Error refused(std::string what, std::string why, std::string mend) {
  return {ErrorCode::usage, std::move(what), std::move(why), std::move(mend), ""};
}

Status set_layers(int64_t asked, int64_t& layers) {
  if (asked == 0) return {};
  if (asked < 0 || asked > layers) {
    return refused(fmt::format("a transformer of {} layers", asked), fmt::format("the published model has {}", layers),
                   fmt::format("use --layers 1 to {}", layers));
  }
  layers = asked;
  return {};
}

// Heads stay as wide as published, so that their number follows.
Status check_width(int64_t width, int64_t multiple) {
  if (width >= 0 && width % multiple == 0 && width < (1 << 16)) return {};
  return refused(fmt::format("a width of {}", width), "", fmt::format("use a multiple of {}", multiple));
}

Status check_count(int64_t count, std::string_view what) {
  if (count >= 0 && count <= (1 << 20)) return {};
  return refused(fmt::format("a {} of {}", what, count), "", "use a positive number of at most a million");
}

// The original code's names, with query, key and value in one tensor.
Result<WeightShapes> zimage_tensors(const SynthSize& size) {
  ZImageConfig config;
  CHIARO_TRY(set_layers(size.layers, config.layers));
  CHIARO_TRY(check_width(size.width, config.head_width()));
  CHIARO_TRY(check_count(size.context_width, "context width"));
  if (size.width > 0) config.heads = size.width / config.head_width();
  if (size.width > 0) config.width = size.width;
  if (size.context_width > 0) config.context_width = size.context_width;
  CHIARO_ASSIGN(const WeightShapes needs, zimage_needs(config));
  WeightShapes stored;
  for (const auto& [name, shape] : needs) {
    const auto original = original_zimage_name(name, config);
    if (!original) continue;  // a key or a value: a part of the query's tensor
    Shape whole = shape;
    if (!zimage_parts(*original).empty()) whole[0] *= 3;
    stored.emplace(*original, whole);
  }
  return stored;
}

Result<WeightShapes> qwen_image_tensors(const SynthSize& size) {
  QwenImageConfig config;
  CHIARO_TRY(set_layers(size.layers, config.layers));
  CHIARO_TRY(check_width(size.width, config.head_width));
  CHIARO_TRY(check_count(size.context_width, "context width"));
  if (size.width > 0) config.heads = size.width / config.head_width;
  if (size.context_width > 0) config.context_width = size.context_width;
  return qwen_image_needs(config);
}

Result<QwenTextConfig> text_config(SynthPart part, const SynthSize& size) {
  QwenTextConfig config = part == SynthPart::qwen3_4b ? qwen3_4b_config() : qwen25_vl_7b_config();
  CHIARO_TRY(set_layers(size.layers, config.layers));
  CHIARO_TRY(check_width(size.width, config.head_width));
  CHIARO_TRY(check_count(size.vocabulary, "vocabulary"));
  if (size.vocabulary > 0) config.vocabulary = size.vocabulary;
  if (size.width == 0) return config;
  const int64_t group = config.heads / config.kv_heads;
  config.inner_width = size.width * 4;
  config.kv_heads = std::max<int64_t>(1, config.kv_heads * size.width / config.width);
  config.heads = config.kv_heads * group;
  config.width = size.width;
  return config;
}

Result<WeightShapes> text_tensors(SynthPart part, const SynthSize& size, bool gguf) {
  CHIARO_ASSIGN(const QwenTextConfig config, text_config(part, size));
  CHIARO_ASSIGN(const WeightShapes needs, qwen_text_needs(config));
  WeightShapes stored;
  for (const auto& [name, shape] : needs) {
    stored.emplace(gguf ? gguf_qwen_text_name(name).value_or(name) : "model." + name, shape);
  }
  return stored;
}

// The names of the original code, without what stands before them in a whole checkpoint.
Result<WeightShapes> flux_vae_tensors(const SynthSize& size) {
  VaeConfig config = sd1_vae_config();
  config.latent_channels = 16;
  config.quant_conv = config.post_quant_conv = false;
  CHIARO_TRY(check_width(size.width, config.norm_groups));
  if (size.width > 0) {
    config.channels = {size.width, 2 * size.width, 4 * size.width, 4 * size.width};
  }
  CHIARO_ASSIGN(const WeightShapes needs, vae_needs(config));
  WeightShapes stored;
  for (const auto& [name, shape] : needs) {
    Shape as_stored = shape;
    const auto original = original_vae_tensor(name, config, as_stored);
    if (!original) return Error{ErrorCode::internal, "no original name for " + name, "", "please report this", ""};
    stored.emplace(original->substr(original->find('.') + 1), as_stored);
  }
  return stored;
}

Result<WeightShapes> wan_vae_tensors(const SynthSize& size) {
  WanVaeConfig config;
  CHIARO_TRY(check_width(size.width, 2));
  if (size.width > 0) config.base_channels = size.width;
  return wan_vae_needs(config);
}

// A size that the part does not have is a mistake, not nothing.
Status check_sizes(SynthPart part, const SynthSize& size) {
  const bool text = is_text(part);
  const bool denoiser = part == SynthPart::zimage || part == SynthPart::qwen_image;
  struct Size {
    int64_t value;
    bool there;
    const char *flag, *of;
  };
  for (const Size& s : {Size{size.layers, text || denoiser, "--layers", "transformers"},
                        Size{size.context_width, denoiser, "--context-width", "zimage and qwen-image"},
                        Size{size.vocabulary, text, "--vocabulary", "qwen3-4b and qwen2.5-vl-7b"}}) {
    if (s.value == 0 || s.there) continue;
    return refused(fmt::format("{} has no {}", entry_of(part).name, s.flag), fmt::format("{} have", s.of),
                   text ? "leave it out; --width is the width of what a text encoder gives" : "leave it out");
  }
  return {};
}

Result<WeightShapes> tensors_of(SynthPart part, const SynthSize& size, bool gguf) {
  CHIARO_TRY(check_sizes(part, size));
  switch (part) {
    case SynthPart::zimage: return zimage_tensors(size);
    case SynthPart::qwen_image: return qwen_image_tensors(size);
    case SynthPart::flux_vae: return flux_vae_tensors(size);
    case SynthPart::qwen_image_vae: return wan_vae_tensors(size);
    default: return text_tensors(part, size, gguf);
  }
}

// Kinds of tokens, by the numbers that llama.cpp gives them.
constexpr int32_t kNormal = 1, kControl = 3, kUnused = 5;
constexpr int64_t kPublishedAdded = 151643;  // the first added token of Qwen's vocabularies

// The bytes, one pair that merges, and the added tokens: where the published vocabulary has them, or behind the pair in
// a smaller table.
Status add_tokenizer(GgufMetadata& metadata, int64_t vocabulary) {
  constexpr std::array<const char*, 3> kAdded{"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  const ByteAlphabet alphabet;
  std::vector<std::string> tokens;
  for (const uint8_t byte : alphabet.vocabulary_order()) {
    std::string symbol;
    append_utf8(symbol, alphabet.symbol(byte));
    tokens.push_back(std::move(symbol));
  }
  tokens.emplace_back("th");
  const auto added = static_cast<int64_t>(kAdded.size());
  const int64_t first = vocabulary >= kPublishedAdded + added ? kPublishedAdded : static_cast<int64_t>(tokens.size());
  if (vocabulary < first + added) {
    return refused(fmt::format("a vocabulary of {}", vocabulary), "", fmt::format("use at least {}", first + added));
  }
  std::vector<int32_t> kinds(static_cast<size_t>(vocabulary), kUnused);
  std::fill_n(kinds.begin(), tokens.size(), kNormal);
  while (static_cast<int64_t>(tokens.size()) < vocabulary) {
    const int64_t id = static_cast<int64_t>(tokens.size()), nth = id - first;
    if (nth >= 0 && nth < added) kinds[static_cast<size_t>(id)] = kControl;
    tokens.push_back(nth >= 0 && nth < added ? kAdded[static_cast<size_t>(nth)] : fmt::format("[PAD{}]", id));
  }
  const std::array<std::string, 1> merges{"t h"};
  metadata.add("tokenizer.ggml.model", std::string("gpt2"));
  metadata.add("tokenizer.ggml.pre", std::string("qwen2"));
  metadata.add("tokenizer.ggml.tokens", GgufArray::of_texts(tokens));
  metadata.add("tokenizer.ggml.token_type", GgufArray::of_i32(kinds));
  metadata.add("tokenizer.ggml.merges", GgufArray::of_texts(merges));
  metadata.add("tokenizer.ggml.padding_token_id", static_cast<uint32_t>(first));
  metadata.add("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(first + 2));
  metadata.add("tokenizer.ggml.add_bos_token", false);
  return {};
}

}  // namespace

std::optional<SynthPart> synth_part_from_name(std::string_view name) {
  for (const PartName& part : kParts) {
    if (part.name == name) return part.part;
  }
  return std::nullopt;
}

Result<std::vector<PlannedTensor>> synth_part_tensors(SynthPart part, const SynthSize& size, DType type, bool gguf) {
  CHIARO_TRY(check_type(type));
  CHIARO_ASSIGN(const WeightShapes stored, tensors_of(part, size, gguf));
  std::vector<PlannedTensor> tensors;
  for (const auto& [name, shape] : stored) tensors.push_back({name, dense(synth_dtype(shape, type), shape)});
  return tensors;
}

Result<GgufMetadata> synth_part_metadata(SynthPart part, const SynthSize& size) {
  GgufMetadata metadata("random weights");
  const PartName& entry = entry_of(part);
  const std::string kind(entry.architecture);
  metadata.add("general.name", std::string(entry.title) + " with random weights");
  if (!kind.empty()) metadata.add("general.architecture", kind);
  if (!is_text(part)) return metadata;
  CHIARO_ASSIGN(const QwenTextConfig c, text_config(part, size));
  const auto number = [&](const char* key, int64_t value) {
    metadata.add(kind + "." + key, static_cast<uint32_t>(value));
  };
  number("block_count", c.layers);
  number("context_length", 32768);
  number("embedding_length", c.width);
  number("feed_forward_length", c.inner_width);
  number("attention.head_count", c.heads);
  number("attention.head_count_kv", c.kv_heads);
  number("attention.key_length", c.head_width);
  number("attention.value_length", c.head_width);
  metadata.add(kind + ".attention.layer_norm_rms_epsilon", static_cast<float>(c.norm_eps));
  metadata.add(kind + ".rope.freq_base", static_cast<float>(c.rope_theta));
  if (c.qkv_bias) {  // how a head's pairs are shared among the axes of a position
    const std::array<int32_t, 4> sections{16, 24, 24, 0};
    metadata.add(kind + ".rope.dimension_sections", GgufArray::of_i32(sections));
  }
  CHIARO_TRY(add_tokenizer(metadata, c.vocabulary));
  return metadata;
}

Result<SynthReport> synthesize_part(SynthPart part, const SynthSize& size, const SynthRequest& request, bool gguf) {
  CHIARO_ASSIGN(std::vector<PlannedTensor> tensors, synth_part_tensors(part, size, request.type, gguf));
  SynthProgress progress{bytes_of(tensors), {}};
  const std::string title = std::string(entry_of(part).title) + " with random weights";
  std::map<std::string, std::string> metadata{{"modelspec.title", title}, {"format", "pt"}};
  CHIARO_TRY(write_synth_file(request, {request.out, std::move(tensors), std::move(metadata)}, progress));
  return progress.report;
}

}  // namespace chiaro::models
