// The inside of synthesize: one file of random weights, and a diffusers folder of three.
#pragma once

#include "models/synth.h"

namespace chiaro::models {

// The type of a tensor of this shape in a checkpoint of `type`.
DType synth_dtype(const Shape& shape, DType type);
int64_t bytes_of(const std::vector<PlannedTensor>& tensors);

struct SynthFile {
  std::filesystem::path path;
  std::vector<PlannedTensor> tensors;
  std::map<std::string, std::string> metadata;
};
struct SynthProgress {
  int64_t total = 0;  // bytes of all files
  SynthReport report;
};
Status write_synth_file(const SynthRequest& request, SynthFile file, SynthProgress& progress);

// A folder with model_index.json, a folder for each network, the scheduler and the tokenizer.
Result<SynthReport> synthesize_folder(const SynthRequest& request);

}  // namespace chiaro::models
