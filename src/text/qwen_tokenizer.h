// The tokenizer of the Qwen language models (Qwen2, Qwen2.5, Qwen2.5-VL, Qwen3): text in, token ids out.
//
// It gives the ids of the reference, transformers' Qwen2TokenizerFast:
//   1. bytes to code points, ill-formed UTF-8 as U+FFFD;
//   2. added tokens ("<|im_start|>", "<think>") are found in the raw text, wherever they stand: the pipelines of
//      diffusers put a prompt into its template and tokenise the whole, so one that is typed in a prompt is a token
//      too;
//   3. NFC of each stretch between them;
//   4. words by kQwenWordPattern (qwen_words.h);
//   5. each word's UTF-8 bytes become symbols and are merged pair by pair (bpe.h).
// Nothing is put before or behind the ids. Known differences from the reference: letters and numbers younger than
// Unicode 16, where the linked ICU knows them, and the order of marks assigned after about Unicode 9, which is
// canonical here. Time is O(n log n) for any text, without recursion. Thread rule: const after loading; any number of
// threads may encode.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "text/added_vocabulary.h"
#include "text/bpe_files.h"
#include "weights/gguf_values.h"

namespace chiaro {

class QwenTokenizer {
 public:
  // From `folder`'s tokenizer.json; where there is none, from vocab.json, merges.txt and the added tokens of
  // tokenizer_config.json or, where that lists none, added_tokens.json. Errors: io, bad_file, unsupported.
  static Result<QwenTokenizer> load_folder(const std::filesystem::path& folder);
  // From the text of a tokenizer.json. Errors: bad_file; unsupported where it is another model's (another pattern,
  // normalisation or way of merging), naming what differs.
  static Result<QwenTokenizer> from_json(const NamedText& tokenizer_json);
  // From a vocabulary, its merges, and the tokens beside it. Errors: bad_file.
  static Result<QwenTokenizer> from_files(const NamedText& vocab_json, const NamedText& merges_txt,
                                          std::span<const AddedToken> added);
  // From the metadata of a GGUF file (tokenizer.ggml.*). Errors: bad_file, unsupported.
  static Result<QwenTokenizer> from_gguf(const GgufMetadata& metadata);

  // Ids of the text, added tokens included. Any byte string up to 1 GiB.
  std::vector<std::int32_t> encode(std::string_view text) const;

  // The text of the tokens: what `encode` was given, after steps 1 and 3. Ids outside the vocabulary give U+FFFD; so
  // does a range that begins or ends inside a character.
  std::string decode(std::span<const std::int32_t> ids) const;
  // Steps 1 to 4: words and added tokens.
  std::vector<std::string> words(std::string_view text) const;

  // The id of a token as the vocabulary spells it ("Ġcat", "<|im_end|>"), or -1.
  std::int32_t find(const std::string& token) const { return vocab_.find(token); }
  // "<|endoftext|>", which fills up shorter rows of a batch.
  std::int32_t pad_id() const { return pad_; }
  // One more than the largest id. The embedding tables of published models have some rows more.
  std::size_t vocab_size() const { return vocab_.tokens.size(); }

 private:
  QwenTokenizer();
  // `vocab` without the added tokens, or with some of them under the same ids. `rows`: how many ids the file lists,
  // with or without a token; an added token may stand anywhere among them.
  static Result<QwenTokenizer> build(BpeVocab vocab, std::span<const AddedToken> added, std::string_view file,
                                     std::size_t rows = 0);
  void split(std::string_view text, const AddedVocabulary::Sink& sink) const;

  BpeVocab vocab_;
  AddedVocabulary added_;
  std::vector<bool> is_added_;  // by id
  ByteAlphabet alphabet_;
  std::array<std::int32_t, 256> symbols_{};  // id of a byte
  std::int32_t pad_ = 0;
};

}  // namespace chiaro
