// The CLIP tokenizer: from text to ids and back.
#include "text/clip_tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "text/clip_words.h"
#include "text/unicode.h"

namespace chiaro {

ClipTokenizer::ClipTokenizer() : specials_(normalize_clip) {}

Result<ClipTokenizer> ClipTokenizer::build(BpeVocab vocab, const ClipTokenizerOptions& options, std::string_view name) {
  ClipTokenizer made;
  made.vocab_ = std::move(vocab);
  made.end_of_word_ = options.end_of_word;
  const auto resolve = [&](std::string_view role, const std::string& token,
                           std::optional<std::int32_t> given) -> Result<std::int32_t> {
    const auto size = static_cast<std::int64_t>(made.vocab_.tokens.size());
    if (given && *given >= 0 && *given < size) return *given;
    const std::int32_t id = given ? -1 : made.vocab_.find(token);
    if (id >= 0) return id;
    std::string why = given ? fmt::format("the {} token's id {} is not below {}", role, *given, size)
                            : fmt::format("the {} token \"{}\" is not among its {} tokens", role, token, size);
    return Error{ErrorCode::bad_file, fmt::format("the tokenizer refuses {}", name), std::move(why),
                 "name the model's own special tokens", std::string(name)};
  };
  CHIARO_ASSIGN(made.bos_, resolve("begin", options.bos, options.bos_id));
  CHIARO_ASSIGN(made.eos_, resolve("end", options.eos, options.eos_id));
  CHIARO_ASSIGN(made.pad_, resolve("padding", options.pad, options.pad_id));
  CHIARO_ASSIGN(const std::int32_t unk, resolve("unknown", options.unk, std::nullopt));

  made.specials_.add({options.bos, made.bos_, options.bos_normalized});
  made.specials_.add({options.eos, made.eos_, options.eos_normalized});

  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string symbol;
    append_utf8(symbol, made.alphabet_.symbol(static_cast<std::uint8_t>(byte)));
    const std::int32_t inner = made.vocab_.find(symbol);
    const std::int32_t last = made.vocab_.find(symbol + options.end_of_word);
    made.inner_[byte] = inner < 0 ? unk : inner;
    made.last_[byte] = last < 0 ? unk : last;
  }
  return made;
}

// A special token ends the word before it, so words are looked for in the pieces between special tokens.
void ClipTokenizer::split(std::string_view bytes, const WordSink& sink) const {
  specials_.split(decode_utf8(bytes), [&](std::u32string_view piece, std::int32_t special_id) {
    if (special_id >= 0) return sink(piece, special_id);
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t length = clip_word_length(piece, at);
      if (length > 0) sink(piece.substr(at, length), -1);
      at += length > 0 ? length : 1;
    }
  });
}

std::vector<std::int32_t> ClipTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> symbols;
  BpeScratch scratch;
  split(text, [&](std::u32string_view word, std::int32_t special_id) {
    if (special_id >= 0) {
      ids.push_back(special_id);
      return;
    }
    const std::string bytes = encode_utf8(word);
    symbols.clear();
    for (const char byte : bytes) symbols.push_back(inner_[static_cast<std::uint8_t>(byte)]);
    symbols.back() = last_[static_cast<std::uint8_t>(bytes.back())];
    vocab_.merges.apply(symbols, scratch);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  });
  return ids;
}

std::string ClipTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string bytes;
  for (const std::int32_t id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= vocab_.tokens.size()) {
      append_utf8(bytes, 0xFFFD);
      continue;
    }
    std::string_view token = vocab_.tokens[static_cast<std::size_t>(id)];
    const bool special = id == bos_ || id == eos_;
    const bool ends_word = special || (!end_of_word_.empty() && token.size() >= end_of_word_.size() &&
                                       token.substr(token.size() - end_of_word_.size()) == end_of_word_);
    if (ends_word && !special) token.remove_suffix(end_of_word_.size());
    if (special && !bytes.empty() && bytes.back() != ' ') bytes.push_back(' ');
    for (const char32_t c : decode_utf8(token)) {
      const std::optional<std::uint8_t> byte = alphabet_.byte(c);
      if (byte) {
        bytes.push_back(static_cast<char>(*byte));
      } else {
        append_utf8(bytes, c);
      }
    }
    if (ends_word) bytes.push_back(' ');
  }
  while (!bytes.empty() && bytes.back() == ' ') bytes.pop_back();
  return encode_utf8(decode_utf8(bytes));
}

std::string ClipTokenizer::normalize(std::string_view text) const {
  return encode_utf8(normalize_clip(decode_utf8(text)));
}

std::vector<std::string> ClipTokenizer::words(std::string_view text) const {
  std::vector<std::string> out;
  split(text, [&](std::u32string_view word, std::int32_t) { out.push_back(encode_utf8(word)); });
  return out;
}

}  // namespace chiaro
