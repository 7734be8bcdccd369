// Reading of tokenizer.json and of the files that name added tokens.
#include "text/tokenizer_json.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "weights/json_check.h"

namespace chiaro {
namespace {

using nlohmann::json;

const json* find(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// One token. The reference can let a token swallow the spaces beside it or match only whole words; no Qwen model's
// does.
Result<AddedToken> read_token(const json& object, std::int64_t id, const FilePlace& place) {
  if (!object.is_object()) return place.refuse("it is not an object");
  const json* content = find(object, "content");
  if (content == nullptr || !content->is_string() || content->get_ref<const std::string&>().empty()) {
    return place.refuse("its \"content\" is not a text");
  }
  AddedToken token{content->get<std::string>()};
  if (id < 0 || id > 0x7FFFFFFF) return place.refuse(fmt::format("the id {} is not one of a token", id));
  token.id = static_cast<std::int32_t>(id);
  for (const char* flag : {"normalized", "lstrip", "rstrip", "single_word"}) {
    const json* value = find(object, flag);
    if (value == nullptr) continue;
    if (!value->is_boolean()) return place.refuse(fmt::format("\"{}\" is not true or false", flag));
    if (!value->get<bool>()) continue;
    if (std::string_view(flag) != "normalized") {
      return place.refuse(fmt::format("{} has \"{}\", which is not supported", shown_token(token.text), flag));
    }
    token.normalized = true;
  }
  return token;
}

Status read_vocab(const json& model, std::string_view file, BpeVocab& vocab) {
  const json* entries = find(model, "vocab");
  if (entries == nullptr || !entries->is_object() || entries->empty()) {
    return refuse_tokenizer_file(file, "its model has no object \"vocab\" of tokens");
  }
  vocab.ids.reserve(entries->size());
  FilePlace place{file, "token"};
  for (const auto& [token, id] : entries->items()) {
    ++place.number;
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > 0x7FFFFFFFU) {
      return place.refuse(fmt::format("the id of {} is not a whole number below 2^31", shown_token(token)));
    }
    CHIARO_TRY(add_bpe_token(vocab, token, id.get<std::int64_t>(), entries->size(), place));
  }
  return {};
}

}  // namespace

Result<json> parse_tokenizer_json(const NamedText& file) {
  if (file.text.size() > kMaxTokenizerJsonBytes) {
    return refuse_tokenizer_file(
        file.name, fmt::format("{} bytes; at most {} are read", file.text.size(), kMaxTokenizerJsonBytes));
  }
  if (auto fault = find_json_fault(file.text, kMaxTokenizerDepth)) {
    return refuse_tokenizer_file(file.name, std::move(*fault));
  }
  json parsed = json::parse(file.text.begin(), file.text.end(), nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return refuse_tokenizer_file(file.name, "it is not a JSON object");
  return parsed;
}

Result<std::vector<AddedToken>> read_added_tokens(const json& tokenizer, std::string_view file) {
  std::vector<AddedToken> tokens;
  const json* list = find(tokenizer, "added_tokens");
  if (list == nullptr) return tokens;
  if (!list->is_array()) return refuse_tokenizer_file(file, "\"added_tokens\" is not a list");
  FilePlace place{file, "added token"};
  for (const json& entry : *list) {
    ++place.number;
    const json* id = entry.is_object() ? find(entry, "id") : nullptr;
    if (id == nullptr || !id->is_number_unsigned()) return place.refuse("its \"id\" is not a whole number");
    const auto value = id->get<std::uint64_t>();
    CHIARO_ASSIGN(AddedToken token,
                  read_token(entry, value > 0x7FFFFFFFU ? -1 : static_cast<std::int64_t>(value), place));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Result<std::vector<AddedToken>> read_added_tokens_decoder(const json& config, std::string_view file) {
  std::vector<AddedToken> tokens;
  const json* map = find(config, "added_tokens_decoder");
  if (map == nullptr) return tokens;
  if (!map->is_object()) return refuse_tokenizer_file(file, "\"added_tokens_decoder\" is not an object");
  FilePlace place{file, "added token"};
  for (const auto& [key, entry] : map->items()) {
    ++place.number;
    std::int64_t id = -1;
    const auto [end, fault] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (fault != std::errc() || end != key.data() + key.size()) {
      return place.refuse(fmt::format("its id {} is not a whole number", shown_token(key)));
    }
    CHIARO_ASSIGN(AddedToken token, read_token(entry, id, place));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Result<std::vector<AddedToken>> read_added_tokens_map(const json& map, std::string_view file) {
  std::vector<AddedToken> tokens;
  FilePlace place{file, "added token"};
  for (const auto& [text, id] : map.items()) {
    ++place.number;
    if (text.empty() || !id.is_number_unsigned() || id.get<std::uint64_t>() > 0x7FFFFFFFU) {
      return place.refuse(fmt::format("{} has no whole number below 2^31 as its id", shown_token(text)));
    }
    tokens.push_back({text, id.get<std::int32_t>()});
  }
  return tokens;
}

Result<BpeVocab> read_bpe_model(const json& model, std::string_view file) {
  BpeVocab vocab;
  CHIARO_TRY(read_vocab(model, file, vocab));
  const json* merges = find(model, "merges");
  if (merges == nullptr || !merges->is_array()) {
    return refuse_tokenizer_file(file, "its model has no list \"merges\" of rules");
  }
  FilePlace place{file, "merge"};
  for (const json& rule : *merges) {
    ++place.number;
    if (rule.is_string()) {
      CHIARO_TRY(add_bpe_merge(vocab, rule.get_ref<const std::string&>(), place));
    } else if (rule.is_array() && rule.size() == 2 && rule[0].is_string() && rule[1].is_string()) {
      CHIARO_TRY(
          add_bpe_merge(vocab, rule[0].get_ref<const std::string&>(), rule[1].get_ref<const std::string&>(), place));
    } else {
      return place.refuse("it is not two tokens");
    }
  }
  return vocab;
}

}  // namespace chiaro
