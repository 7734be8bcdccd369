// Parsing of vocab.json (event by event: duplicates are seen and nothing is built twice) and of merges.txt.
#include "text/bpe_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "text/unicode.h"

namespace chiaro {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;
constexpr std::int64_t kMaxId = 0x7FFFFFFF;
constexpr std::size_t kShownToken = 40;  // bytes of a token that an error message shows

Status check_size(const NamedText& file) {
  if (file.text.size() <= kMaxFileBytes) return {};
  return refuse_tokenizer_file(file.name,
                               fmt::format("{} bytes; at most {} are read", file.text.size(), kMaxFileBytes));
}

// Collects {token: id}. Returning false stops the parser; `why` then says what was wrong.
class VocabEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<std::pair<std::string, std::int32_t>> entries;
  std::string why;

  bool start_object(std::size_t) override {
    if (depth_++ == 0) return true;
    return fail("an object is not an id");
  }
  bool end_object() override { return true; }
  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }
  bool number_unsigned(number_unsigned_t id) override {
    if (depth_ == 0) return fail("the file holds a number, not an object of tokens");
    if (id > 0x7FFFFFFFU) return fail(fmt::format("the id {} is too large", id));
    entries.emplace_back(std::move(key_), static_cast<std::int32_t>(id));
    return true;
  }
  bool number_integer(number_integer_t id) override { return fail(fmt::format("the id {} is negative", id)); }
  bool number_float(number_float_t, const string_t& text) override {
    return fail(fmt::format("the id {} is not a whole number", shown_token(text)));
  }
  bool null() override { return fail("null is not an id"); }
  bool boolean(bool) override { return fail("a boolean is not an id"); }
  bool string(string_t&) override { return fail("a string is not an id"); }
  bool binary(binary_t&) override { return fail("binary is not an id"); }
  bool start_array(std::size_t) override { return fail("an array is not an id"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& last, const nlohmann::detail::exception&) override {
    why = fmt::format("not JSON: byte {}, near {}", position, shown_token(last));
    return false;
  }

 private:
  bool fail(std::string_view reason) {
    why = depth_ == 0 ? std::string(reason)
                      : fmt::format("entry {}, {}: {}", entries.size() + 1, shown_token(key_), reason);
    return false;
  }
  int depth_ = 0;
  std::string key_;
};

Status read_vocab_json(const NamedText& file, BpeVocab& vocab) {
  CHIARO_TRY(check_size(file));
  VocabEvents events;
  if (!nlohmann::json::sax_parse(file.text.begin(), file.text.end(), &events))
    return refuse_tokenizer_file(file.name, events.why);
  if (events.entries.empty()) return refuse_tokenizer_file(file.name, "no entries");
  const std::size_t count = events.entries.size();
  vocab.ids.reserve(count);
  FilePlace place{file.name, "entry"};
  for (auto& [token, id] : events.entries) {
    ++place.number;
    CHIARO_TRY(add_bpe_token(vocab, std::move(token), id, count, place));
  }
  return {};
}

// Calls rule(place, "LEFT RIGHT") -> Status for each rule of a merges file.
template <class F>
Status for_each_merge(const NamedText& file, std::size_t max_merges, F&& rule) {
  CHIARO_TRY(check_size(file));
  std::string_view rest = file.text;
  while (!rest.empty() && (rest.back() == '\n' || rest.back() == '\r')) rest.remove_suffix(1);
  std::size_t count = 0;
  for (std::size_t number = 1; !rest.empty() && count < max_merges; ++number) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (number == 1 && line.find("#version") != std::string_view::npos) continue;
    CHIARO_TRY(rule(FilePlace{file.name, "line", number}, line));
    ++count;
  }
  return {};
}

struct RuleSides {
  std::string_view left, right;
};
Result<RuleSides> split_rule(std::string_view rule, const FilePlace& place) {
  const std::size_t space = rule.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == rule.size() ||
      rule.find(' ', space + 1) != std::string_view::npos) {
    return place.refuse(fmt::format("{} is not two tokens with a space between", shown_token(rule)));
  }
  return RuleSides{rule.substr(0, space), rule.substr(space + 1)};
}

// A token as the merges see it: without the end of word.
std::string_view stem(std::string_view token, std::string_view end_of_word) {
  return token.size() > end_of_word.size() && token.ends_with(end_of_word)
             ? token.substr(0, token.size() - end_of_word.size())
             : token;
}

}  // namespace

Error refuse_tokenizer_file(std::string_view file, std::string why) {
  return Error{ErrorCode::bad_file, fmt::format("the tokenizer refuses {}", file), std::move(why),
               "download the tokenizer's files again; all of them must be of the same model", std::string(file)};
}

Error FilePlace::refuse(std::string_view reason) const {
  return refuse_tokenizer_file(file, fmt::format("{} {}: {}", kind, number, reason));
}

std::string shown_token(std::string_view token) {
  std::string out;
  for (char32_t c : decode_utf8(token.substr(0, kShownToken))) append_utf8(out, c < 0x20 || c == 0x7F ? U'\uFFFD' : c);
  if (token.size() > kShownToken) out += "…";
  return "\"" + out + "\"";
}

Status add_bpe_token(BpeVocab& vocab, std::string token, std::int64_t id, std::size_t entries, const FilePlace& place) {
  const auto refuse = [&](std::string_view reason) {
    return refuse_tokenizer_file(place.file,
                                 fmt::format("{} {}, {}: {}", place.kind, place.number, shown_token(token), reason));
  };
  const auto at = static_cast<std::size_t>(id);
  if (token.empty()) return refuse("a token cannot be empty");
  if (id < 0) return refuse(fmt::format("the id {} is negative", id));
  if (id > kMaxId || at >= 4 * entries + 1024) {
    return refuse(fmt::format("the id {} leaves too wide a gap for {} entries", id, entries));
  }
  if (at >= vocab.tokens.size()) vocab.tokens.resize(at + 1);
  if (!vocab.tokens[at].empty()) {
    return refuse(fmt::format("the id {} is taken by {}", id, shown_token(vocab.tokens[at])));
  }
  if (!vocab.ids.emplace(token, static_cast<std::int32_t>(id)).second) return refuse("the token comes twice");
  vocab.tokens[at] = std::move(token);
  return {};
}

Status add_bpe_merge(BpeVocab& vocab, std::string_view left, std::string_view right, const FilePlace& place) {
  const std::string joined = std::string(left) + std::string(right);
  const MergeRule rule{vocab.find(std::string(left)), vocab.find(std::string(right)), vocab.find(joined)};
  if (rule.left < 0 || rule.right < 0 || rule.result < 0) {
    const std::string_view missing = rule.left < 0 ? left : rule.right < 0 ? right : std::string_view(joined);
    return place.refuse(fmt::format("{} is not in the vocabulary", shown_token(missing)));
  }
  if (!vocab.merges.add(rule)) {
    return place.refuse(fmt::format("the pair {} {} comes twice", shown_token(left), shown_token(right)));
  }
  const auto at = static_cast<std::size_t>(rule.result);
  if (at >= vocab.merged.size()) vocab.merged.resize(vocab.tokens.size());
  vocab.merged[at] = true;
  return {};
}

Status add_bpe_merge(BpeVocab& vocab, std::string_view rule, const FilePlace& place) {
  CHIARO_ASSIGN(const RuleSides sides, split_rule(rule, place));
  return add_bpe_merge(vocab, sides.left, sides.right, place);
}

Status check_all_merged(const BpeVocab& vocab, std::string_view merges_name, std::string_view end_of_word,
                        const std::unordered_set<std::string>& special_tokens) {
  std::size_t unmade = 0, first = 0;
  for (std::size_t id = 0; id < vocab.tokens.size(); ++id) {
    const std::string& token = vocab.tokens[id];
    const std::string_view inner = stem(token, end_of_word);
    const bool added = inner.size() > 2 && inner.front() == '<' && inner.back() == '>';  // "<cat-toy>"
    if (token.empty() || added || (id < vocab.merged.size() && vocab.merged[id]) || decode_utf8(inner).size() <= 1 ||
        special_tokens.contains(token)) {
      continue;
    }
    if (unmade++ == 0) first = id;
  }
  if (unmade == 0) return {};
  return refuse_tokenizer_file(merges_name, fmt::format("no rule makes {} of the vocabulary's {} tokens, such as {}",
                                                        unmade, vocab.ids.size(), shown_token(vocab.tokens[first])));
}

std::int32_t BpeVocab::find(const std::string& token) const {
  const auto found = ids.find(token);
  return found == ids.end() ? -1 : found->second;
}

Result<BpeVocab> parse_bpe_vocab(const NamedText& vocab_json, const NamedText& merges_txt, std::size_t max_merges) {
  BpeVocab vocab;
  CHIARO_TRY(read_vocab_json(vocab_json, vocab));
  CHIARO_TRY(for_each_merge(merges_txt, max_merges, [&](const FilePlace& place, std::string_view rule) {
    return add_bpe_merge(vocab, rule, place);
  }));
  return vocab;
}

Result<BpeVocab> vocab_from_merges(const NamedText& merges_txt, std::size_t max_merges, std::string_view end_of_word,
                                   const std::vector<std::string>& special_tokens) {
  BpeVocab vocab;
  const auto add = [&](std::string token) {
    const auto id = static_cast<std::int32_t>(vocab.tokens.size());
    if (!vocab.ids.emplace(token, id).second) return false;
    vocab.tokens.push_back(std::move(token));
    return true;
  };
  const ByteAlphabet alphabet;
  for (const std::string_view suffix : {std::string_view(), end_of_word}) {
    for (const std::uint8_t byte : alphabet.vocabulary_order()) {
      std::string token;
      append_utf8(token, alphabet.symbol(byte));
      add(token.append(suffix));
    }
  }
  CHIARO_TRY(for_each_merge(merges_txt, max_merges, [&](const FilePlace& place, std::string_view rule) -> Status {
    CHIARO_ASSIGN(const RuleSides sides, split_rule(rule, place));
    if (!add(std::string(sides.left) + std::string(sides.right))) {
      return place.refuse(fmt::format("{} followed by {} makes a token that exists", shown_token(sides.left),
                                      shown_token(sides.right)));
    }
    return add_bpe_merge(vocab, sides.left, sides.right, place);
  }));
  for (const std::string& token : special_tokens) {
    if (!add(token))
      return refuse_tokenizer_file(merges_txt.name, fmt::format("the special token {} exists", shown_token(token)));
  }
  return vocab;
}

}  // namespace chiaro
