// The vocabulary of OpenAI's CLIP, for single-file checkpoints, which carry no tokenizer.
#pragma once

#include <filesystem>

#include "text/clip_tokenizer.h"

namespace chiaro {

// Folders that hold what ships with Chiaro (models/): $CHIARO_MODELS, beside the program, its install folder, and the
// source tree it was built from, in this order. Only those that exist.
std::vector<std::filesystem::path> shipped_model_folders();

// Errors: io where clip-vocab/merges.txt is nowhere, naming the folders; bad_file where its hash is another.
Result<ClipTokenizer> load_clip_vocabulary(const ClipTokenizerOptions& options = {});

}  // namespace chiaro
