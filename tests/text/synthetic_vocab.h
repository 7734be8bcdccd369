// A byte-pair vocabulary small enough to read: 260 entries, 20 of them made by merges.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "text/bpe.h"
#include "text/clip_tokenizer.h"
#include "text/unicode.h"

namespace chiaro::testing {

inline const std::vector<std::pair<std::string, std::string>>& synthetic_merges() {
  static const std::vector<std::pair<std::string, std::string>> kMerges = {
      {"c", "a"},      {"ca", "t</w>"},  {"t", "h"},      {"th", "e</w>"}, {"a", "a"},
      {"aa", "aa"},    {"aaaa", "aaaa"}, {"aa", "a</w>"}, {"d", "o"},      {"do", "g</w>"},
      {"'", "s</w>"},  {"o", "n</w>"},   {"i", "n"},      {"in", "g</w>"}, {"r", "e"},
      {"re", "d</w>"}, {"!", "!</w>"},   {"b", "l"},      {"bl", "u"},     {"blu", "e</w>"}};
  return kMerges;
}

inline std::string synthetic_merges_txt() {
  std::string text = "#version: 0.2\n";
  for (const auto& [left, right] : synthetic_merges()) text += left + " " + right + "\n";
  return text;
}

// Symbols of the 94 printable ASCII bytes and of 0x80 to 0x98: ids 0 to 118, with "</w>" 119 to 237; merges 238 to 257;
// begin 258, end 259. All other bytes are unknown (and the unknown token is the end token).
inline std::string synthetic_vocab_json() {
  const ByteAlphabet alphabet;
  std::vector<std::string> tokens;
  for (const char* suffix : {"", "</w>"}) {
    for (unsigned byte = 33; byte <= 0x98; ++byte) {
      if (byte == 127) byte = 0x80;
      std::string token;
      append_utf8(token, alphabet.symbol(static_cast<std::uint8_t>(byte)));
      tokens.push_back(token + suffix);
    }
  }
  for (const auto& [left, right] : synthetic_merges()) tokens.push_back(left + right);
  tokens.push_back("<|startoftext|>");
  tokens.push_back("<|endoftext|>");
  std::string json = "{";
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    std::string escaped;
    for (const char c : tokens[id]) escaped += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    json += fmt::format("{}\"{}\": {}", id == 0 ? "" : ", ", escaped, id);
  }
  return json + "}";
}

inline ClipTokenizer synthetic_tokenizer() {
  const std::string vocab = synthetic_vocab_json();
  const std::string merges = synthetic_merges_txt();
  return ClipTokenizer::from_memory({"vocab.json", vocab}, {"merges.txt", merges}, {}).value();
}

// The tokenizer of the model that ships.
inline ClipTokenizer tiny_tokenizer() {
  return ClipTokenizer::load_folder(std::string(CHIARO_SOURCE_DIR) + "/models/tiny/tokenizer").value();
}

}  // namespace chiaro::testing
