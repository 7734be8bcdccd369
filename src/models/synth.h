// Checkpoints of random weights in the real names and shapes: for tests of files and speed, here and in other engines,
// without downloads. Pictures made with them are noise.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "models/clip/config.h"
#include "models/unet/config.h"
#include "models/vae/config.h"
#include "weights/safetensors_stream.h"

namespace chiaro::models {

enum class SynthModel { sd15, sd21, sd_turbo };                          // sd21: the 768 pixel model, which predicts v
std::optional<SynthModel> synth_model_from_name(std::string_view name);  // "sd15", "sd21", "sd-turbo"

// What is written: the networks and how their names and files are.
struct SynthSpec {
  ClipTextConfig clip;
  UnetConfig unet;
  VaeConfig vae;
  bool open_clip = false;        // OpenCLIP's names, one layer more than is used, and its projection
  bool later_code = false;       // SD-Turbo's prefix
  bool conv_projections = true;  // the UNet's transformers are entered by 1x1 convolutions
  bool v_prediction = false;
  std::string title;
};
SynthSpec synth_spec(SynthModel model);

// The tensors of a single file in `type`: matrices and convolutions; vectors too, but in f16 where `type` is FP8.
// Errors: usage for other types than f32, f16, bf16 and the two FP8.
Result<std::vector<PlannedTensor>> synth_tensors(const SynthSpec& spec, DType type);

// The bytes of elements first .. first + count - 1 of a tensor: even random numbers by seed, name and element alone,
// scaled so that what a layer gives is about as large as what it gets; the weights of norms are near 1, vectors small.
void synth_values(const PlannedTensor& tensor, uint64_t seed, int64_t first, int64_t count, std::span<std::byte> out);

struct SynthRequest {
  SynthSpec spec;
  std::filesystem::path out;  // "FILE.safetensors": one checkpoint; else a new diffusers folder
  DType type = DType::f16;
  uint64_t seed = 0;
  std::filesystem::path merges;  // CLIP's merges.txt, for the tokenizer of a folder
  std::function<void(int64_t done, int64_t total)> on_progress = {};  // bytes
  const std::atomic<bool>* cancel = nullptr;
};
struct SynthReport {
  int64_t tensors = 0, parameters = 0, bytes = 0;
};
// Memory: a few megabytes whatever the model. What is written appears whole or not at all. Same request, same bytes.
// Errors: io, usage (a type; a folder that is there already), cancelled.
Result<SynthReport> synthesize(const SynthRequest& request);
// A TAESD by diffusers' names, one file: `out`, `type`, `seed` and the callbacks of the request, the rest is not read.
Result<SynthReport> synthesize_taesd(const SynthRequest& request);

}  // namespace chiaro::models
