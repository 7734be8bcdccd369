// `chiaro synth MODEL OUT`: a checkpoint of random weights.
#pragma once

#include <cstdint>
#include <string>

namespace chiaro::cli {

struct SynthOptions {
  std::string model;  // "sd15", "sd21", "sd-turbo", "taesd", "zimage", "qwen-image"
  std::string out;    // FILE.safetensors, FILE.gguf, or a folder to be made
  std::string type = "f16";
  uint64_t seed = 0;
  int64_t layers = 0;  // of a diffusion transformer; 0: as published
};

int run_synth(const SynthOptions& options);

}  // namespace chiaro::cli
