// `chiaro convert -m IN -o OUT`: a model's weights in other types, as GGUF or safetensors.
#pragma once

#include <string>
#include <vector>

namespace chiaro::cli {

struct ConvertOptions {
  std::string model, output;       // a file or folder; a file, or for a model folder a new folder
  std::string type;                // empty: types stay
  std::vector<std::string> rules;  // REGEX=TYPE
  bool join_rows = false;          // --join-rows
  bool report_error = false;
  int threads = 0;
};

int run_convert(const ConvertOptions& options);

}  // namespace chiaro::cli
