// The small Qwen vocabulary of the golden files, or the published one where CHIARO_QWEN_GOLDEN names a folder of it
// (tests/golden/tokenizer/README.md).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "text/qwen_tokenizer.h"

namespace chiaro::testing {

inline std::filesystem::path qwen_folder() {
  const char* given = std::getenv("CHIARO_QWEN_GOLDEN");
  if (given != nullptr) return given;
  return std::filesystem::path(CHIARO_SOURCE_DIR) / "tests/golden/tokenizer/qwen";
}

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline QwenTokenizer qwen_tokenizer() {
  return QwenTokenizer::load_folder(qwen_folder() / "fast").value();
}

}  // namespace chiaro::testing
