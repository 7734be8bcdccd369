// Prompts of any length for CLIP: chunks of 75 tokens, each between a begin and an end token (77).
//
// The rules, those of the stable-diffusion webui:
// - Every part of the prompt is tokenised by itself and each of its tokens carries the part's weight; begin, end and
// padding
//   tokens weigh 1.
// - A full chunk ends. If the chunk's last comma lies at most `comma_backtrack` (20) tokens before the point where the
// chunk is
//   full, what follows that comma moves to the next chunk; when the next token is itself a comma, it just starts the
//   next chunk. Without such a comma, the border falls wherever it falls, also inside a word.
// - BREAK ends the chunk at hand, even an empty one.
// - A chunk's text is followed by the end token, then by the padding token up to 77.
// - The prompt and the negative prompt get the same number of chunks (pad_to_same_count): the picture model reads the
//   embeddings of all chunks as one sequence [chunks * 77, C].
//
// How the weights act (the pipeline does it, after the text encoder): for the output z [77, C] of one chunk, z' = w ⊙ z
// with a weight per token, and then the mean over all elements is restored, z'' = z' * mean(z) / mean(z'); where
// mean(z') is 0, or all weights are 1, z'' = z'. The mean is of this chunk of this prompt alone, so that a picture does
// not depend on its batch. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chiaro/error.h"
#include "text/clip_tokenizer.h"
#include "text/prompt.h"

namespace chiaro {

struct ClipChunkOptions {
  std::size_t chunk_tokens = 75;     // tokens of text per chunk; the model's positions less 2
  std::size_t comma_backtrack = 20;  // 0: commas do not matter
  std::size_t max_chunks = 0;        // 0: no limit. What does not fit is cut and reported
};

struct PromptChunks {
  std::vector<std::vector<std::int32_t>> ids;  // [chunks][chunk_tokens + 2], at least one chunk
  std::vector<std::vector<float>> weights;     // [chunks][chunk_tokens + 2]
  std::vector<std::size_t> end_at;             // [chunks]: where each chunk's end token stands (pooled outputs read it)
  std::size_t token_count = 0;                 // tokens of the whole prompt, without begin, end and padding
  std::size_t cut_tokens = 0;                  // how many of them `max_chunks` left out
  std::string cut_text;                        // and the words they were

  std::size_t chunk_count() const { return ids.size(); }
};

// The longest text of a prompt, all parts together.
inline constexpr std::size_t kMaxPromptBytes = std::size_t{16} << 20;

// Errors: usage, where the prompt is longer than kMaxPromptBytes or chunk_tokens is 0.
Result<PromptChunks> chunk_prompt(const ClipTokenizer& tokenizer, const Prompt& prompt,
                                  const ClipChunkOptions& options);

// Appends empty chunks (begin, end, padding) until there are `count`; does nothing where there are as many already.
void pad_chunks(const ClipTokenizer& tokenizer, std::size_t count, PromptChunks& chunks);

// Pads the shorter one.
void pad_to_same_count(const ClipTokenizer& tokenizer, PromptChunks& a, PromptChunks& b);

}  // namespace chiaro
