// The Qwen tokenizer: from text to ids and back.
#include "text/qwen_tokenizer.h"

#include <fmt/format.h>
#include <algorithm>

#include <utility>

#include "text/qwen_words.h"
#include "text/unicode.h"

namespace chiaro {
namespace {

constexpr std::size_t kAllMerges = static_cast<std::size_t>(-1);
constexpr const char* kPad = "<|endoftext|>";
// What the templates of prompts are made of. As plain text they would be other tokens, and another picture.
constexpr std::array<const char*, 3> kNeeded = {kPad, "<|im_start|>", "<|im_end|>"};

}  // namespace

QwenTokenizer::QwenTokenizer() : added_(to_nfc) {}

Result<QwenTokenizer> QwenTokenizer::from_files(const NamedText& vocab_json, const NamedText& merges_txt,
                                                std::span<const AddedToken> added) {
  CHIARO_ASSIGN(BpeVocab vocab, parse_bpe_vocab(vocab_json, merges_txt, kAllMerges));
  CHIARO_TRY(check_all_merged(vocab, merges_txt.name, "", texts_of(added)));
  return build(std::move(vocab), added, vocab_json.name);
}

Result<QwenTokenizer> QwenTokenizer::build(BpeVocab vocab, std::span<const AddedToken> added, std::string_view file,
                                           std::size_t rows) {
  QwenTokenizer made;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string symbol;
    append_utf8(symbol, made.alphabet_.symbol(static_cast<std::uint8_t>(byte)));
    made.symbols_[byte] = vocab.find(symbol);
    if (made.symbols_[byte] < 0) {
      return refuse_tokenizer_file(file, fmt::format("it has no token {} for the byte {}", shown_token(symbol), byte));
    }
  }
  const std::size_t entries = std::max(rows, vocab.ids.size() + added.size());
  FilePlace place{file, "added token"};
  for (const AddedToken& token : added) {
    ++place.number;
    const std::int32_t there = vocab.find(token.text);
    if (there < 0) CHIARO_TRY(add_bpe_token(vocab, token.text, token.id, entries, place));
    if (there >= 0 && there != token.id) {
      return place.refuse(fmt::format("{} has the id {} in the vocabulary, {} as an added token",
                                      shown_token(token.text), there, token.id));
    }
    made.added_.add(token);
    made.is_added_.resize(vocab.tokens.size());
    made.is_added_[static_cast<std::size_t>(token.id)] = true;
  }
  for (const char* name : kNeeded) {
    const std::int32_t id = vocab.find(name);
    if (id >= 0 && static_cast<std::size_t>(id) < made.is_added_.size() && made.is_added_[static_cast<std::size_t>(id)])
      continue;
    return refuse_tokenizer_file(
        file, fmt::format("{} is not among its {} added tokens (tokenizer_config.json or added_tokens.json lists them)",
                          name, added.size()));
  }
  made.pad_ = vocab.find(kPad);
  made.vocab_ = std::move(vocab);
  return made;
}

void QwenTokenizer::split(std::string_view bytes, const AddedVocabulary::Sink& sink) const {
  added_.split(decode_utf8(bytes), [&](std::u32string_view piece, std::int32_t id) {
    if (id >= 0) return sink(piece, id);
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t length = qwen_word_length(piece, at);
      sink(piece.substr(at, length), -1);
      at += length;
    }
  });
}

std::vector<std::int32_t> QwenTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> symbols;
  BpeScratch scratch;
  split(text, [&](std::u32string_view word, std::int32_t added_id) {
    if (added_id >= 0) return ids.push_back(added_id);
    symbols.clear();
    for (const char byte : encode_utf8(word)) symbols.push_back(symbols_[static_cast<std::uint8_t>(byte)]);
    vocab_.merges.apply(symbols, scratch);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  });
  return ids;
}

std::string QwenTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string bytes;
  for (const std::int32_t id : ids) {
    const auto at = static_cast<std::size_t>(id);
    if (id < 0 || at >= vocab_.tokens.size()) {
      append_utf8(bytes, 0xFFFD);
      continue;
    }
    if (at < is_added_.size() && is_added_[at]) {
      bytes += vocab_.tokens[at];
      continue;
    }
    for (const char32_t c : decode_utf8(vocab_.tokens[at])) {
      const std::optional<std::uint8_t> byte = alphabet_.byte(c);
      if (byte) {
        bytes.push_back(static_cast<char>(*byte));
      } else {
        append_utf8(bytes, c);
      }
    }
  }
  return encode_utf8(decode_utf8(bytes));
}

std::vector<std::string> QwenTokenizer::words(std::string_view text) const {
  std::vector<std::string> out;
  split(text, [&](std::u32string_view word, std::int32_t) { out.push_back(encode_utf8(word)); });
  return out;
}

}  // namespace chiaro
