// Loading a Qwen tokenizer from the metadata of a GGUF file.
//
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, "Tokenizer"; the names of models, of patterns and
// the kinds of tokens are those that llama.cpp's converter writes.
#include <fmt/format.h>

#include <utility>

#include "text/qwen_tokenizer.h"

namespace chiaro {
namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model", kPattern = "tokenizer.ggml.pre",
                           kTokens = "tokenizer.ggml.tokens", kKinds = "tokenizer.ggml.token_type",
                           kMerges = "tokenizer.ggml.merges";

// tokenizer.ggml.token_type
enum Kind : std::int64_t { kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5 };

// The text under `key` must be `wanted`.
Status check_name(const GgufMetadata& metadata, std::string_view key, std::string_view wanted) {
  CHIARO_ASSIGN(const std::string name, metadata.get_text(key));
  if (name == wanted) return {};
  return Error{ErrorCode::unsupported, "the Qwen tokenizer refuses this GGUF file's vocabulary",
               fmt::format("{} is {}, not \"{}\"", key, shown_token(name), wanted),
               "give a file of a Qwen2, Qwen2.5 or Qwen3 model", std::string(key)};
}

// Sorts the tokens: those that merges make into `vocab`, those that stand beside it into `added`. Gives how many rows
// there are, those without a token among them.
Result<std::size_t> read_tokens(const GgufMetadata& metadata, BpeVocab& vocab, std::vector<AddedToken>& added) {
  CHIARO_ASSIGN(const std::vector<std::string_view> tokens, metadata.get_texts(kTokens));
  CHIARO_ASSIGN(const std::vector<std::int64_t> kinds, metadata.get_integers(kKinds));
  if (kinds.size() != tokens.size()) {
    return refuse_tokenizer_file(kKinds, fmt::format("{} kinds for {} tokens", kinds.size(), tokens.size()));
  }
  vocab.ids.reserve(tokens.size());
  FilePlace place{kTokens, "token"};
  for (std::size_t id = 0; id < tokens.size(); ++id, ++place.number) {
    switch (kinds[id]) {
      case kNormal:
        CHIARO_TRY(add_bpe_token(vocab, std::string(tokens[id]), static_cast<std::int64_t>(id), tokens.size(), place));
        break;
      case kControl:
      case kUserDefined:
        if (tokens[id].empty()) return place.refuse("a token cannot be empty");
        added.push_back({std::string(tokens[id]), static_cast<std::int32_t>(id)});
        break;
      case kUnused: break;  // rows of the embedding table without a token
      default: return place.refuse(fmt::format("{} is of the unknown kind {}", shown_token(tokens[id]), kinds[id]));
    }
  }
  return tokens.size();
}

}  // namespace

Result<QwenTokenizer> QwenTokenizer::from_gguf(const GgufMetadata& metadata) {
  CHIARO_TRY(check_name(metadata, kModel, "gpt2"));
  CHIARO_TRY(check_name(metadata, kPattern, "qwen2"));
  BpeVocab vocab;
  std::vector<AddedToken> added;
  CHIARO_ASSIGN(const std::size_t rows, read_tokens(metadata, vocab, added));
  CHIARO_ASSIGN(const std::vector<std::string_view> merges, metadata.get_texts(kMerges));
  FilePlace place{kMerges, "merge"};
  for (const std::string_view rule : merges) {
    ++place.number;
    CHIARO_TRY(add_bpe_merge(vocab, rule, place));
  }
  CHIARO_TRY(check_all_merged(vocab, kMerges, "", {}));
  // Rows without a token may lie below an added one, and the file has paid for each.
  return build(std::move(vocab), added, kTokens, rows);
}

}  // namespace chiaro
