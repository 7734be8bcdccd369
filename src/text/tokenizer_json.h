// Hugging Face's JSON files of a tokenizer, as far as byte-pair tokenizers need them. Only for .cpp files (nlohmann's
// header is slow to compile).
//
// Strict: no key twice, no more than kMaxTokenizerDepth levels, strict JSON in UTF-8; memory is bounded by a small
// multiple of the bytes read. Errors are of code bad_file and name the file. Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "chiaro/error.h"
#include "text/added_vocabulary.h"
#include "text/bpe_files.h"

namespace chiaro {

inline constexpr std::size_t kMaxTokenizerJsonBytes = std::size_t{256} << 20;  // Qwen's have 11 MB
inline constexpr int kMaxTokenizerDepth = 16;

// The object that the file is.
Result<nlohmann::json> parse_tokenizer_json(const NamedText& file);

// The list "added_tokens" of a tokenizer.json: objects with "id" and "content".
Result<std::vector<AddedToken>> read_added_tokens(const nlohmann::json& tokenizer, std::string_view file);
// "added_tokens_decoder" of a tokenizer_config.json: {id as text: object with "content"}; empty where it is not there.
Result<std::vector<AddedToken>> read_added_tokens_decoder(const nlohmann::json& config, std::string_view file);
// An added_tokens.json: {content: id}.
Result<std::vector<AddedToken>> read_added_tokens_map(const nlohmann::json& map, std::string_view file);

// "vocab" and "merges" (texts "LEFT RIGHT", or lists of two) of the object "model".
Result<BpeVocab> read_bpe_model(const nlohmann::json& model, std::string_view file);

}  // namespace chiaro
