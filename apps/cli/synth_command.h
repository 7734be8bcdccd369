// `chiaro synth MODEL OUT`: a checkpoint of random weights.
#pragma once

#include <cstdint>
#include <string>

#include "models/synth_part.h"

namespace chiaro::cli {

struct SynthOptions {
  std::string model;  // "sd15", "sd21", "sd-turbo", "taesd", or a part by synth_part_from_name
  std::string out;    // FILE.safetensors, FILE.gguf, or a folder to be made
  std::string type = "f16";
  uint64_t seed = 0;
  models::SynthSize size;  // of a part
};

int run_synth(const SynthOptions& options);

}  // namespace chiaro::cli
