// The tokenizer of CLIP text encoders (Radford et al. 2021): text in, token ids out.
//
// It gives the ids of the reference (the fast CLIP tokenizer of Hugging Face; OpenAI's without its HTML and mojibake
// repair). The steps, in order:
//   1. bytes to code points, ill-formed UTF-8 as U+FFFD;
//   2. special tokens declared `normalized: false` are found in the raw text;
//   3. NFC, every run of white space to one space, lower case;
//   4. the other special tokens are found in the normalised text, so "<|EndOfText|>" is one as well;
//   5. words: 's 't 're 've 'm 'll 'd, a run of letters, one number, or a run of anything else that is not white space;
//   6. each word's UTF-8 bytes become symbols, the last one with "</w>", and are merged pair by pair (bpe.h). A symbol
//   that
//      the vocabulary lacks becomes the unknown token.
// Known differences from the reference, both from its Unicode tables: letters and numbers younger than Unicode 16,
// where the linked ICU knows them, and the order of marks assigned after about Unicode 9, which is canonical here. Step
// 5 is written by hand, time is O(n log n) for any text, and no word is kept between calls: a word costs about a
// microsecond. Thread rule: const after loading; any number of threads may encode.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "text/added_vocabulary.h"
#include "text/bpe_files.h"

namespace chiaro {

struct ClipTokenizerOptions {
  // Texts of the special tokens, looked up in the vocabulary. The defaults are those of every CLIP; `pad` differs
  // (SD 1.x: the end token; OpenCLIP encoders of SD 2.x and the second of SDXL: "!").
  std::string bos = "<|startoftext|>";
  std::string eos = "<|endoftext|>";
  std::string pad = "<|endoftext|>";
  std::string unk = "<|endoftext|>";
  // Whether a special token is looked for in the text after normalisation (step 4) or before (step 2).
  bool bos_normalized = true;
  bool eos_normalized = true;
  // Ids that win over the texts above. Do not take them from a text model's config.json unchecked: many published ones
  // state ids of another model.
  std::optional<std::int32_t> bos_id, eos_id, pad_id;
  std::string end_of_word = "</w>";
  std::size_t max_merges = 1000000;
};

// OpenAI's merges file lists 262,144 rules; the model uses the first 49152 - 256 - 2 of them (512 byte symbols, these
// and two special tokens make its 49,408 tokens).
inline constexpr std::size_t kClipMerges = 48894;

class ClipTokenizer {
 public:
  // Reads the special tokens from `folder`'s special_tokens_map.json and tokenizer_config.json (either may be missing;
  // the first wins), then vocab.json and merges.txt. Errors: io, bad_file.
  static Result<ClipTokenizer> load_folder(const std::filesystem::path& folder);
  static Result<ClipTokenizer> load_files(const std::filesystem::path& vocab_json,
                                          const std::filesystem::path& merges_txt, const ClipTokenizerOptions& options);
  static Result<ClipTokenizer> from_memory(const NamedText& vocab_json, const NamedText& merges_txt,
                                           const ClipTokenizerOptions& options);
  // From the merges alone (see vocab_from_merges), with bos and eos as the last two tokens. `sha256`, if not empty, is
  // the hash in hexadecimal that the file must have.
  static Result<ClipTokenizer> from_merges(const NamedText& merges_txt, std::string_view sha256,
                                           const ClipTokenizerOptions& options);
  static Result<ClipTokenizer> load_merges_file(const std::filesystem::path& merges_txt, std::string_view sha256,
                                                const ClipTokenizerOptions& options);

  // Ids of the text, without begin and end tokens. Any byte string up to 1 GiB.
  std::vector<std::int32_t> encode(std::string_view text) const;

  // Text of the tokens: words with one space between, no space at the end. Ids outside the vocabulary give U+FFFD. A
  // range that begins or ends inside a character gives U+FFFD there, too.
  std::string decode(std::span<const std::int32_t> ids) const;

  // Step 3 alone, and steps 1 to 5: the words as `decode` shows them.
  std::string normalize(std::string_view text) const;
  std::vector<std::string> words(std::string_view text) const;

  std::int32_t bos_id() const { return bos_; }
  std::int32_t eos_id() const { return eos_; }
  std::int32_t pad_id() const { return pad_; }
  // The id of a token as the vocabulary spells it (",</w>"), or -1.
  std::int32_t find(const std::string& token) const { return vocab_.find(token); }
  // One more than the largest id: what the text model's embedding table must have.
  std::size_t vocab_size() const { return vocab_.tokens.size(); }

 private:
  // A word, or a special token (id >= 0).
  using WordSink = AddedVocabulary::Sink;

  ClipTokenizer();
  static Result<ClipTokenizer> build(BpeVocab vocab, const ClipTokenizerOptions& options, std::string_view name);
  void split(std::string_view text, const WordSink& sink) const;

  BpeVocab vocab_;
  ByteAlphabet alphabet_;
  std::string end_of_word_;
  AddedVocabulary specials_;
  std::array<std::int32_t, 256> inner_{};  // id of a byte inside a word
  std::array<std::int32_t, 256> last_{};   // id of a word's last byte
  std::int32_t bos_ = 0, eos_ = 0, pad_ = 0;
};

// The special tokens that a folder's special_tokens_map.json and tokenizer_config.json state.
Result<ClipTokenizerOptions> read_clip_special_tokens(const std::filesystem::path& folder);

}  // namespace chiaro
