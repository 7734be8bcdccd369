// Writes a model's weights in other types, as GGUF or safetensors, tensor by tensor: `chiaro convert`.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "core/shape.h"
#include "core/thread_pool.h"
#include "weights/gguf_values.h"
#include "weights/safetensors.h"
#include "weights/weight_map.h"

namespace chiaro {

// A type by any of its usual names, in any case: "q4_K", "F16", "fp8", "f8_e4m3fn". Nothing for other texts.
std::optional<DType> convert_type_from_name(std::string_view name);

// Tensors whose names contain a match of `pattern` (ECMAScript) get `type`. Names above 1024 bytes match nothing.
struct ConvertRule {
  std::string pattern;
  DType type = DType::f16;
};

struct ConvertRequest {
  // A .safetensors, .gguf or PyTorch file, an index of shards, or the folder of one component; convert_folder: a
  // diffusers folder.
  std::filesystem::path in;
  std::filesystem::path out;       // its extension, .gguf or .safetensors, says which kind
  std::optional<DType> type;       // empty: types stay as they are
  std::vector<ConvertRule> rules;  // the first that matches wins over `type`
  std::string architecture;        // general.architecture of a GGUF file whose source has none; empty: none
  // Weights of convolutions whose rows blocks do not divide are stored in rows of 256, and their shape beside them
  // (comfy.gguf.orig_shape.*), as ComfyUI's converter does; stable-diffusion.cpp does not read such files. GGUF only.
  bool join_rows = false;
  bool report_error = false;                                     // decode what was encoded: costs time
  ThreadPool* pool = nullptr;                                    // required
  std::function<void(int64_t done, int64_t total)> on_progress;  // bytes of the result; from the calling thread
  const std::atomic<bool>* cancel = nullptr;
};

// Why a tensor got its type.
enum class ConvertReason {
  asked,      // the type asked for
  rule,       // of a rule
  stored,     // as it is in the source: no type was asked for, or it holds integers
  small,      // at most one dimension, or a small layer that other programs keep too: as stored, or f16
  joined,     // the type asked for, in joined rows
  rows,       // blocks of the type asked for do not divide its rows: q8_0 where 32 does, else f16
  container,  // the kind of file has no such type: f16
};
std::string_view convert_reason_text(ConvertReason reason);  // "blocks do not divide the rows"

struct ConvertedTensor {
  std::string name;
  Shape shape;
  DType from = DType::f32, to = DType::f32;
  ConvertReason reason = ConvertReason::asked;
  int64_t source_bytes = 0, bytes = 0;
  int64_t clamped = 0;       // numbers beyond the range of a plain type
  int64_t non_finite = 0;    // NaN and infinities of the source, where it was decoded
  double rmse = 0, rms = 0;  // of the error and of the numbers; with report_error
};

struct ConvertReport {
  std::vector<ConvertedTensor> tensors;    // in the order of the file
  std::vector<SkippedTensor> skipped;      // tensors that cannot be read here: not in the result
  std::vector<SkippedTensor> others;       // entries of a checkpoint that are no tensors: not in the result
  std::vector<std::string> scales;         // scales of FP8 or INT8 weights, multiplied into them
  std::vector<std::string> metadata_lost;  // keys that the kind of file cannot hold
  int64_t source_bytes = 0, bytes = 0;     // of all tensors
};

// What is converted: tensors by the names that they get, and what is known beside them.
struct ConvertInput {
  WeightMap weights;
  // Tensors whose rows follow those of the tensor of this name in the result: key and value behind the query.
  std::map<std::string, std::vector<TensorDataPtr>, std::less<>> more_rows;
  std::map<std::string, std::string> metadata;  // of safetensors and PyTorch files
  GgufMetadata gguf;
  std::vector<SkippedTensor> others;
};

// The file appears whole, or not at all. Memory is a small constant beside the header. Equal input gives equal bytes at
// any number of threads.
// Errors: those of reading; usage (the kind of file cannot hold the type, a pattern that is no regular expression, no
// extension); io; cancelled.
Result<ConvertReport> convert_model(const ConvertRequest& request);
// As above, of tensors that are open already; `request.in` serves for messages.
Result<ConvertReport> convert_input(const ConvertRequest& request, ConvertInput input);

}  // namespace chiaro
