// A whole diffusers folder in other types: `chiaro convert -m FOLDER -o FOLDER`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weights/convert.h"

namespace chiaro {

struct FolderReport {
  std::vector<std::pair<std::string, ConvertReport>> components;  // by name
  std::vector<std::string> left_out;  // components of the source that have no effect on pictures (a safety checker)
};

// Writes the folder `request.out`, new: the weights of every component converted, the configurations, the scheduler and
// the tokenizers copied. Weights are safetensors, which every reader of such folders takes, unless a block type is
// asked for (or is there already): then they are GGUF, which this engine reads in a folder and others do not. The
// folder appears whole, or not at all. Progress counts the bytes of one component at a time. Errors: those of
// convert_model; usage where `out` is there already; bad_file where `in` is no model folder.
Result<FolderReport> convert_folder(const ConvertRequest& request);

}  // namespace chiaro
