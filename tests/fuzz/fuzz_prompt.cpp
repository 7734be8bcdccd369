// Fuzzes the way of a prompt: syntax, tokens, chunks, and back to text, with the vocabulary that ships.
// What must hold for any bytes is checked with a trap: ids inside the vocabulary, chunks of 77, no token lost.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "text/clip_chunks.h"
#include "text/clip_tokenizer.h"
#include "text/prompt.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

const chiaro::ClipTokenizer& tokenizer() {
  static const chiaro::ClipTokenizer kTokenizer = [] {
    auto loaded = chiaro::ClipTokenizer::load_folder(std::string(CHIARO_SOURCE_DIR) + "/models/tiny/tokenizer");
    require(loaded.ok(), "models/tiny/tokenizer loads");
    return std::move(loaded).value();
  }();
  return kTokenizer;
}

void check_chunks(const chiaro::PromptChunks& chunks, std::size_t max_chunks) {
  std::size_t kept = 0;
  require(chunks.chunk_count() >= 1 && chunks.chunk_count() <= max_chunks, "the number of chunks");
  for (std::size_t i = 0; i < chunks.chunk_count(); ++i) {
    require(chunks.ids[i].size() == 77 && chunks.weights[i].size() == 77, "77 tokens a chunk");
    require(chunks.ids[i][chunks.end_at[i]] == tokenizer().eos_id(), "the end token's place");
    kept += chunks.end_at[i] - 1;
    for (const std::int32_t id : chunks.ids[i]) {
      require(id >= 0 && static_cast<std::size_t>(id) < tokenizer().vocab_size(), "ids inside the vocabulary");
    }
    for (const float weight : chunks.weights[i]) require(std::isfinite(weight), "finite weights");
  }
  require(kept + chunks.cut_tokens == chunks.token_count, "no token is lost");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const chiaro::PromptPolicy policy : {chiaro::PromptPolicy::weights, chiaro::PromptPolicy::literal}) {
    const chiaro::Prompt prompt = chiaro::parse_prompt(text, policy);
    for (const chiaro::LoraTag& tag : prompt.loras) {
      require(!tag.name.empty() && tag.name.find_first_of("/\\") == std::string::npos, "names are no paths");
    }
    chiaro::ClipChunkOptions options;
    options.max_chunks = 3;
    const auto chunks = chiaro::chunk_prompt(tokenizer(), prompt, options);
    require(chunks.ok(), "a short prompt is cut into chunks");
    check_chunks(*chunks, options.max_chunks);
  }
  const std::string decoded = tokenizer().decode(tokenizer().encode(text));
  std::string words;
  for (const std::string& word : tokenizer().words(text)) words += (words.empty() ? "" : " ") + word;
  require(decoded == words, "decoding gives the words");
  return 0;
}
