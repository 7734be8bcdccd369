// Loading a CLIP tokenizer from files and memory.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/ascii.h"
#include "core/mapped_file.h"
#include "core/sha256.h"
#include "core/utf8_path.h"
#include "text/clip_tokenizer.h"
#include "text/unicode.h"

namespace chiaro {
namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

Error config_error(const std::string& name, std::string why) {
  return Error{ErrorCode::bad_file, fmt::format("the tokenizer refuses {}", name), std::move(why),
               "download the tokenizer's files again", name};
}

// A token is given as its text, or as an object {"content": text, "normalized": bool}; null means "not set".
Status read_token(const nlohmann::json& config, const char* key, const std::string& name, std::string& token,
                  bool* normalized) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return {};
  const nlohmann::json* content = &*found;
  if (found->is_object()) {
    const auto inner = found->find("content");
    if (inner == found->end()) return config_error(name, fmt::format("{} has no \"content\"", key));
    content = &*inner;
    const auto flag = found->find("normalized");
    if (flag != found->end() && !flag->is_boolean()) {
      return config_error(name, fmt::format("{}: \"normalized\" is not true or false", key));
    }
    if (flag != found->end() && normalized != nullptr) *normalized = flag->get<bool>();
  }
  if (!content->is_string() || content->get_ref<const std::string&>().empty()) {
    return config_error(name, fmt::format("{} is not a text", key));
  }
  token = content->get<std::string>();
  return {};
}

Status read_config(const std::filesystem::path& path, ClipTokenizerOptions& options) {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return {};
  CHIARO_ASSIGN(const auto file, MappedFile::open(path));
  const std::string name = path_to_utf8(path);
  const std::string_view text = text_of(*file);
  if (text.size() > kMaxConfigBytes) {
    return config_error(name, fmt::format("{} bytes; at most {} are read", text.size(), kMaxConfigBytes));
  }
  const nlohmann::json config = nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return config_error(name, "it is not a JSON object");
  CHIARO_TRY(read_token(config, "bos_token", name, options.bos, &options.bos_normalized));
  CHIARO_TRY(read_token(config, "eos_token", name, options.eos, &options.eos_normalized));
  CHIARO_TRY(read_token(config, "unk_token", name, options.unk, nullptr));
  CHIARO_TRY(read_token(config, "pad_token", name, options.pad, nullptr));
  return {};
}

}  // namespace

Result<ClipTokenizerOptions> read_clip_special_tokens(const std::filesystem::path& folder) {
  ClipTokenizerOptions options;
  CHIARO_TRY(read_config(folder / "tokenizer_config.json", options));
  CHIARO_TRY(read_config(folder / "special_tokens_map.json", options));
  return options;
}

Result<ClipTokenizer> ClipTokenizer::load_folder(const std::filesystem::path& folder) {
  CHIARO_ASSIGN(const ClipTokenizerOptions options, read_clip_special_tokens(folder));
  return load_files(folder / "vocab.json", folder / "merges.txt", options);
}

Result<ClipTokenizer> ClipTokenizer::load_files(const std::filesystem::path& vocab_json,
                                                const std::filesystem::path& merges_txt,
                                                const ClipTokenizerOptions& options) {
  CHIARO_ASSIGN(const auto vocab, MappedFile::open(vocab_json));
  CHIARO_ASSIGN(const auto merges, MappedFile::open(merges_txt));
  return from_memory({path_to_utf8(vocab_json), text_of(*vocab)}, {path_to_utf8(merges_txt), text_of(*merges)},
                     options);
}

Result<ClipTokenizer> ClipTokenizer::from_memory(const NamedText& vocab_json, const NamedText& merges_txt,
                                                 const ClipTokenizerOptions& options) {
  CHIARO_ASSIGN(BpeVocab vocab, parse_bpe_vocab(vocab_json, merges_txt, options.max_merges));
  CHIARO_TRY(check_all_merged(vocab, merges_txt.name, options.end_of_word,
                              {options.bos, options.eos, options.unk, options.pad}));
  return build(std::move(vocab), options, vocab_json.name);
}

Result<ClipTokenizer> ClipTokenizer::from_merges(const NamedText& merges_txt, std::string_view expected,
                                                 const ClipTokenizerOptions& options) {
  if (!expected.empty()) {
    const std::string wanted = ascii_lower(expected);
    const std::string actual = to_hex(chiaro::sha256(merges_txt.text));
    if (actual != wanted) {
      return config_error(std::string(merges_txt.name), fmt::format("its SHA-256 is {}, not {}", actual, wanted));
    }
  }
  CHIARO_ASSIGN(BpeVocab vocab,
                vocab_from_merges(merges_txt, options.max_merges, options.end_of_word, {options.bos, options.eos}));
  return build(std::move(vocab), options, merges_txt.name);
}

Result<ClipTokenizer> ClipTokenizer::load_merges_file(const std::filesystem::path& merges_txt,
                                                      std::string_view expected, const ClipTokenizerOptions& options) {
  CHIARO_ASSIGN(const auto merges, MappedFile::open(merges_txt));
  return from_merges({path_to_utf8(merges_txt), text_of(*merges)}, expected, options);
}

}  // namespace chiaro
