// Fuzzes the reader of tokenizer.json and the way of a text through a Qwen tokenizer. The input is read twice: as a
// tokenizer.json, and as a text for the small vocabulary of the golden files. What must hold for any bytes is checked
// with a trap: typed errors, ids inside the vocabulary, words and ids that give the normalised text.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "text/qwen_prompts.h"
#include "text/qwen_tokenizer.h"
#include "text/unicode.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

const chiaro::QwenTokenizer& tokenizer() {
  static const chiaro::QwenTokenizer kTokenizer = [] {
    auto loaded =
        chiaro::QwenTokenizer::load_folder(std::string(CHIARO_SOURCE_DIR) + "/tests/golden/tokenizer/qwen/fast");
    require(loaded.ok(), "the golden tokenizer loads");
    return std::move(loaded).value();
  }();
  return kTokenizer;
}

void check_text(const chiaro::QwenTokenizer& with, std::string_view text, bool all_tokens_are_nfc) {
  const auto ids = with.encode(text);
  for (const std::int32_t id : ids) {
    require(id >= 0 && static_cast<std::size_t>(id) < with.vocab_size(), "ids inside the vocabulary");
  }
  std::string joined;
  for (const std::string& word : with.words(text)) {
    require(!word.empty(), "no empty words");
    joined += word;
  }
  if (all_tokens_are_nfc) require(with.decode(ids) == joined, "decoding gives the words");
}

void check_file(std::string_view text) {
  const auto read = chiaro::QwenTokenizer::from_json({"fuzzed", text});
  if (read.ok()) return check_text(*read, text.substr(0, 256), false);
  const chiaro::Error& error = read.error();
  require(error.code == chiaro::ErrorCode::bad_file || error.code == chiaro::ErrorCode::unsupported, "a typed error");
  require(!error.mend.empty() && error.format().size() < 4096, "a short error that says how to mend it");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_file(text);
  check_text(tokenizer(), text, true);
  const chiaro::LlmTokens tokens = chiaro::qwen_image_tokens(tokenizer(), text, 64);
  require(tokens.ids.size() <= tokens.drop + 64, "no more tokens than the limit");
  require(tokens.ids.size() + tokens.cut == tokenizer().encode(chiaro::qwen_image_prompt(text)).size(),
          "no token is lost");
  return 0;
}
