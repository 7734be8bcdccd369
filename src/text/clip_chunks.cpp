// Cutting a weighted prompt into CLIP's chunks.
#include "text/clip_chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace chiaro {
namespace {

// The text tokens of one chunk, before begin, end and padding.
struct Row {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
};

class Chunker {
 public:
  Chunker(const ClipChunkOptions& options, std::int32_t comma) : options_(options), comma_(comma) {}

  void add(std::int32_t token, float weight) {
    const bool full = row_.ids.size() == options_.chunk_tokens;
    if (full && token != comma_ && last_comma_ && row_.ids.size() - *last_comma_ <= options_.comma_backtrack) {
      move_tail_after(*last_comma_);
    } else if (full) {
      end_chunk();
    }
    // A tail as long as a whole chunk (a backtrack of 75) would leave no room.
    if (row_.ids.size() == options_.chunk_tokens) end_chunk();
    if (token == comma_) last_comma_ = row_.ids.size();
    row_.ids.push_back(token);
    row_.weights.push_back(weight);
  }

  void end_chunk() {
    rows_.push_back(std::exchange(row_, Row{}));
    last_comma_.reset();
  }

  std::vector<Row> finish() {
    if (!row_.ids.empty() || rows_.empty()) end_chunk();
    return std::move(rows_);
  }

 private:
  void move_tail_after(std::size_t comma) {
    const auto keep = static_cast<std::ptrdiff_t>(comma + 1);
    Row tail{{row_.ids.begin() + keep, row_.ids.end()}, {row_.weights.begin() + keep, row_.weights.end()}};
    row_.ids.resize(comma + 1);
    row_.weights.resize(comma + 1);
    end_chunk();
    row_ = std::move(tail);
  }

  const ClipChunkOptions& options_;
  std::int32_t comma_;  // -1 where the vocabulary has none: no token is negative
  Row row_;
  std::optional<std::size_t> last_comma_;  // its place in row_
  std::vector<Row> rows_;
};

void append_chunk(const ClipTokenizer& tokenizer, std::size_t length, const Row& row, PromptChunks& chunks) {
  std::vector<std::int32_t> ids = {tokenizer.bos_id()};
  std::vector<float> weights = {1.0F};
  ids.insert(ids.end(), row.ids.begin(), row.ids.end());
  weights.insert(weights.end(), row.weights.begin(), row.weights.end());
  chunks.end_at.push_back(ids.size());
  ids.push_back(tokenizer.eos_id());
  ids.resize(length, tokenizer.pad_id());
  weights.resize(length, 1.0F);
  chunks.ids.push_back(std::move(ids));
  chunks.weights.push_back(std::move(weights));
}

Status check(const Prompt& prompt, const ClipChunkOptions& options) {
  if (options.chunk_tokens == 0) {
    return Error{ErrorCode::usage, "a prompt cannot be cut into chunks of 0 tokens", "chunk_tokens is 0",
                 "use the text model's number of positions less 2", "prompt"};
  }
  std::size_t bytes = 0;
  for (const PromptPart& part : prompt.parts) bytes += part.text.size();
  if (bytes <= kMaxPromptBytes) return {};
  return Error{ErrorCode::usage, "the prompt is too long", fmt::format("{} bytes; at most {}", bytes, kMaxPromptBytes),
               "shorten the prompt", "prompt"};
}

}  // namespace

Result<PromptChunks> chunk_prompt(const ClipTokenizer& tokenizer, const Prompt& prompt,
                                  const ClipChunkOptions& options) {
  CHIARO_TRY(check(prompt, options));
  Chunker chunker(options, tokenizer.find(",</w>"));
  PromptChunks chunks;
  for (const PromptPart& part : prompt.parts) {
    if (part.kind == PromptPart::Kind::chunk_break) {
      chunker.end_chunk();
      continue;
    }
    const std::vector<std::int32_t> ids = tokenizer.encode(part.text);
    chunks.token_count += ids.size();
    for (const std::int32_t id : ids) chunker.add(id, part.weight);
  }
  const std::vector<Row> rows = chunker.finish();
  const std::size_t kept = options.max_chunks == 0 ? rows.size() : std::min(rows.size(), options.max_chunks);
  std::vector<std::int32_t> cut;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i < kept) {
      append_chunk(tokenizer, options.chunk_tokens + 2, rows[i], chunks);
    } else {
      cut.insert(cut.end(), rows[i].ids.begin(), rows[i].ids.end());
    }
  }
  chunks.cut_tokens = cut.size();
  chunks.cut_text = tokenizer.decode(cut);
  return chunks;
}

void pad_chunks(const ClipTokenizer& tokenizer, std::size_t count, PromptChunks& chunks) {
  const std::size_t length = chunks.ids.empty() ? ClipChunkOptions{}.chunk_tokens + 2 : chunks.ids.front().size();
  while (chunks.ids.size() < count) append_chunk(tokenizer, length, Row{}, chunks);
}

void pad_to_same_count(const ClipTokenizer& tokenizer, PromptChunks& a, PromptChunks& b) {
  const std::size_t count = std::max(a.chunk_count(), b.chunk_count());
  pad_chunks(tokenizer, count, a);
  pad_chunks(tokenizer, count, b);
}

}  // namespace chiaro
