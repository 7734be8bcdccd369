// Loading a Qwen tokenizer from Hugging Face's files.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "text/qwen_tokenizer.h"
#include "text/qwen_words.h"
#include "text/tokenizer_json.h"

namespace chiaro {
namespace {

using nlohmann::json;

Error not_qwen(std::string_view file, std::string why) {
  return Error{ErrorCode::unsupported, fmt::format("the Qwen tokenizer refuses {}", file), std::move(why),
               "give the tokenizer of a Qwen2, Qwen2.5 or Qwen3 model", std::string(file)};
}

// A part of a tokenizer.json as a message may show it.
std::string shown_part(const json& part) {
  constexpr std::size_t kShown = 200;
  std::string text = part.dump(-1, ' ', /*ensure_ascii=*/true);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

// Whether `object` has exactly this under `key`. A key that is not there is null.
bool is(const json& object, const char* key, const json& value) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && (found == object.end() ? json(nullptr) : *found) == value;
}
bool is_false(const json& object, const char* key) {
  return is(object, key, false) || is(object, key, nullptr);
}
bool is_blank(const json& object, const char* key) {
  return is(object, key, "") || is(object, key, nullptr);
}

// Words by kQwenWordPattern, then bytes as symbols.
bool is_qwen_cut(const json& cut) {
  if (!is(cut, "type", "Sequence") || !cut.contains("pretokenizers") || !cut["pretokenizers"].is_array()) return false;
  const json& steps = cut["pretokenizers"];
  if (steps.size() != 2) return false;
  const json& words = steps[0];
  const json& bytes = steps[1];
  return is(words, "type", "Split") && is(words, "behavior", "Isolated") && is_false(words, "invert") &&
         is(words, "pattern", json{{"Regex", kQwenWordPattern}}) && is(bytes, "type", "ByteLevel") &&
         is(bytes, "add_prefix_space", false) && is(bytes, "use_regex", false);
}

// What another model's tokenizer would do differently is refused, part by part.
Status check_is_qwen(const json& root, std::string_view file) {
  static const json kNothing;
  const auto part = [&](const char* key) -> const json& {
    const auto found = root.find(key);
    return found == root.end() ? kNothing : *found;
  };
  const auto differs = [&](const char* key) {
    return not_qwen(file, fmt::format("its {} is another: {}", key, shown_part(part(key))));
  };
  const json& model = part("model");
  if (!is(model, "type", "BPE")) return not_qwen(file, "its model is not of type BPE");
  if (!(is(model, "dropout", nullptr) || is(model, "dropout", 0.0)) || !is_blank(model, "continuing_subword_prefix") ||
      !is_blank(model, "end_of_word_suffix") || !is_false(model, "byte_fallback") ||
      !is_false(model, "ignore_merges")) {
    return not_qwen(file, "its model has a dropout, a prefix or suffix of words, byte_fallback or ignore_merges");
  }
  if (!is(part("normalizer"), "type", "NFC")) return differs("normalizer");
  if (!is_qwen_cut(part("pre_tokenizer"))) return differs("pre_tokenizer");
  const json& post = part("post_processor");
  if (!post.is_null() && !is(post, "type", "ByteLevel")) return differs("post_processor");
  return {};
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

Result<json> open_json(const std::filesystem::path& path) {
  CHIARO_ASSIGN(const auto file, MappedFile::open(path));
  return parse_tokenizer_json({path_to_utf8(path), text_of(*file)});
}

// The class that a tokenizer_config.json names, where it names one.
Status check_class(const json& config, std::string_view file) {
  if (is(config, "tokenizer_class", nullptr) || is(config, "tokenizer_class", "Qwen2Tokenizer") ||
      is(config, "tokenizer_class", "Qwen2TokenizerFast")) {
    return {};
  }
  return not_qwen(file, fmt::format("its tokenizer_class is {}", shown_part(config["tokenizer_class"])));
}

Result<std::vector<AddedToken>> added_of_folder(const std::filesystem::path& folder) {
  std::error_code missing;
  const std::filesystem::path config_path = folder / "tokenizer_config.json";
  if (std::filesystem::exists(config_path, missing)) {
    const std::string name = path_to_utf8(config_path);
    CHIARO_ASSIGN(const json config, open_json(config_path));
    CHIARO_TRY(check_class(config, name));
    CHIARO_ASSIGN(std::vector<AddedToken> tokens, read_added_tokens_decoder(config, name));
    if (!tokens.empty()) return tokens;
  }
  const std::filesystem::path map_path = folder / "added_tokens.json";
  if (!std::filesystem::exists(map_path, missing)) return std::vector<AddedToken>();
  CHIARO_ASSIGN(const json map, open_json(map_path));
  return read_added_tokens_map(map, path_to_utf8(map_path));
}

}  // namespace

Result<QwenTokenizer> QwenTokenizer::from_json(const NamedText& file) {
  CHIARO_ASSIGN(const json root, parse_tokenizer_json(file));
  CHIARO_TRY(check_is_qwen(root, file.name));
  CHIARO_ASSIGN(const std::vector<AddedToken> added, read_added_tokens(root, file.name));
  CHIARO_ASSIGN(BpeVocab vocab, read_bpe_model(root["model"], file.name));
  CHIARO_TRY(check_all_merged(vocab, file.name, "", texts_of(added)));
  return build(std::move(vocab), added, file.name);
}

Result<QwenTokenizer> QwenTokenizer::load_folder(const std::filesystem::path& folder) {
  std::error_code missing;
  const std::filesystem::path whole = folder / "tokenizer.json";
  if (std::filesystem::exists(whole, missing)) {
    CHIARO_ASSIGN(const auto file, MappedFile::open(whole));
    return from_json({path_to_utf8(whole), text_of(*file)});
  }
  CHIARO_ASSIGN(const auto vocab, MappedFile::open(folder / "vocab.json"));
  CHIARO_ASSIGN(const auto merges, MappedFile::open(folder / "merges.txt"));
  CHIARO_ASSIGN(const std::vector<AddedToken> added, added_of_folder(folder));
  return from_files({path_to_utf8(vocab->path()), text_of(*vocab)}, {path_to_utf8(merges->path()), text_of(*merges)},
                    added);
}

}  // namespace chiaro
