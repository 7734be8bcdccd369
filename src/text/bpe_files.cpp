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
constexpr std::size_t kShownToken = 40;  // bytes of a token that an error message shows

Error file_error(std::string_view name, std::string why) {
  return Error{ErrorCode::bad_file, fmt::format("the tokenizer refuses {}", name), std::move(why),
               "download the tokenizer's files again; vocab.json and merges.txt must be of the same model",
               std::string(name)};
}

// A token as a message may show it: cut, valid UTF-8, no control characters.
std::string shown(std::string_view token) {
  std::string out;
  for (char32_t c : decode_utf8(token.substr(0, kShownToken))) append_utf8(out, c < 0x20 || c == 0x7F ? U'\uFFFD' : c);
  if (token.size() > kShownToken) out += "…";
  return "\"" + out + "\"";
}

Status check_size(const NamedText& file) {
  if (file.text.size() <= kMaxFileBytes) return {};
  return file_error(file.name, fmt::format("{} bytes; at most {} are read", file.text.size(), kMaxFileBytes));
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
    return fail(fmt::format("the id {} is not a whole number", shown(text)));
  }
  bool null() override { return fail("null is not an id"); }
  bool boolean(bool) override { return fail("a boolean is not an id"); }
  bool string(string_t&) override { return fail("a string is not an id"); }
  bool binary(binary_t&) override { return fail("binary is not an id"); }
  bool start_array(std::size_t) override { return fail("an array is not an id"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& last, const nlohmann::detail::exception&) override {
    why = fmt::format("not JSON: byte {}, near {}", position, shown(last));
    return false;
  }

 private:
  bool fail(std::string_view reason) {
    why = depth_ == 0 ? std::string(reason) : fmt::format("entry {}, {}: {}", entries.size() + 1, shown(key_), reason);
    return false;
  }
  int depth_ = 0;
  std::string key_;
};

Status read_vocab_json(const NamedText& file, BpeVocab& vocab) {
  CHIARO_TRY(check_size(file));
  VocabEvents events;
  if (!nlohmann::json::sax_parse(file.text.begin(), file.text.end(), &events)) return file_error(file.name, events.why);
  if (events.entries.empty()) return file_error(file.name, "no entries");
  const std::size_t limit = 4 * events.entries.size() + 1024;
  std::size_t number = 0;
  vocab.ids.reserve(events.entries.size());
  for (auto& [token, id] : events.entries) {
    ++number;
    const auto fail = [&, &token_text = token](std::string_view reason) {
      return file_error(file.name, fmt::format("entry {}, {}: {}", number, shown(token_text), reason));
    };
    const auto at = static_cast<std::size_t>(id);
    if (token.empty()) return fail("a token cannot be empty");
    if (at >= limit)
      return fail(fmt::format("the id {} leaves too wide a gap for {} entries", id, events.entries.size()));
    if (at >= vocab.tokens.size()) vocab.tokens.resize(at + 1);
    if (!vocab.tokens[at].empty()) return fail(fmt::format("the id {} is taken by {}", id, shown(vocab.tokens[at])));
    if (!vocab.ids.emplace(token, id).second) return fail("the token comes twice");
    vocab.tokens[at] = std::move(token);
  }
  return {};
}

// Calls rule(line number, left, right) -> Status for each rule of a merges file.
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
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos) {
      return file_error(file.name,
                        fmt::format("line {}: {} is not two tokens with a space between", number, shown(line)));
    }
    CHIARO_TRY(rule(number, line.substr(0, space), line.substr(space + 1)));
    ++count;
  }
  return {};
}

// Finds the three ids of a rule and appends it.
Status append_rule(const NamedText& file, std::size_t line, std::string_view left, std::string_view right,
                   BpeVocab& vocab) {
  const auto id_of = [&](const std::string& token) { return vocab.find(token); };
  const std::string joined = std::string(left) + std::string(right);
  const MergeRule rule{id_of(std::string(left)), id_of(std::string(right)), id_of(joined)};
  if (rule.left < 0 || rule.right < 0 || rule.result < 0) {
    const std::string_view missing = rule.left < 0 ? left : rule.right < 0 ? right : std::string_view(joined);
    return file_error(file.name, fmt::format("line {}: {} is not in the vocabulary", line, shown(missing)));
  }
  if (!vocab.merges.add(rule)) {
    return file_error(file.name, fmt::format("line {}: the pair {} {} comes twice", line, shown(left), shown(right)));
  }
  const auto at = static_cast<std::size_t>(rule.result);
  if (at >= vocab.merged.size()) vocab.merged.resize(vocab.tokens.size());
  vocab.merged[at] = true;
  return {};
}

// A token as the merges see it: without the end of word.
std::string_view stem(std::string_view token, std::string_view end_of_word) {
  return token.size() > end_of_word.size() && token.ends_with(end_of_word)
             ? token.substr(0, token.size() - end_of_word.size())
             : token;
}

}  // namespace

Status check_all_merged(const BpeVocab& vocab, std::string_view merges_name, std::string_view end_of_word,
                        const std::vector<std::string>& special_tokens) {
  std::size_t unmade = 0, first = 0;
  for (std::size_t id = 0; id < vocab.tokens.size(); ++id) {
    const std::string& token = vocab.tokens[id];
    const std::string_view inner = stem(token, end_of_word);
    const bool added = inner.size() > 2 && inner.front() == '<' && inner.back() == '>';  // "<cat-toy>"
    if (token.empty() || added || (id < vocab.merged.size() && vocab.merged[id]) || decode_utf8(inner).size() <= 1 ||
        std::find(special_tokens.begin(), special_tokens.end(), token) != special_tokens.end()) {
      continue;
    }
    if (unmade++ == 0) first = id;
  }
  if (unmade == 0) return {};
  return file_error(merges_name, fmt::format("no rule makes {} of the vocabulary's {} tokens, such as {}", unmade,
                                             vocab.ids.size(), shown(vocab.tokens[first])));
}

std::int32_t BpeVocab::find(const std::string& token) const {
  const auto found = ids.find(token);
  return found == ids.end() ? -1 : found->second;
}

Result<BpeVocab> parse_bpe_vocab(const NamedText& vocab_json, const NamedText& merges_txt, std::size_t max_merges) {
  BpeVocab vocab;
  CHIARO_TRY(read_vocab_json(vocab_json, vocab));
  CHIARO_TRY(
      for_each_merge(merges_txt, max_merges, [&](std::size_t line, std::string_view left, std::string_view right) {
        return append_rule(merges_txt, line, left, right, vocab);
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
  CHIARO_TRY(for_each_merge(
      merges_txt, max_merges, [&](std::size_t line, std::string_view left, std::string_view right) -> Status {
        if (!add(std::string(left) + std::string(right))) {
          return file_error(merges_txt.name, fmt::format("line {}: {} followed by {} makes a token that exists", line,
                                                         shown(left), shown(right)));
        }
        return append_rule(merges_txt, line, left, right, vocab);
      }));
  for (const std::string& token : special_tokens) {
    if (!add(token)) return file_error(merges_txt.name, fmt::format("the special token {} exists", shown(token)));
  }
  return vocab;
}

}  // namespace chiaro
