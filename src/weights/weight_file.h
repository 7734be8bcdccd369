// One file of weights, of whichever kind: told by its first bytes, not by its name.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chiaro/error.h"
#include "weights/gguf.h"
#include "weights/safetensors.h"
#include "weights/torch.h"
#include "weights/weight_map.h"

namespace chiaro {

// Thread rule: immutable; copies are cheap.
class WeightFile {
 public:
  // Errors: io; bad_file, naming what the file looks like where it holds no weights; those of the kind's reader.
  static Result<WeightFile> open(const std::filesystem::path& path);

  std::string format() const;  // "safetensors", "GGUF version 3", "PyTorch"
  // Whether the file has a tensor of this name, usable or not.
  bool has(std::string_view name) const;
  // Errors: bad_file where a name is there already.
  Status add_to(WeightMap& weights) const;
  std::map<std::string, std::string> metadata() const;  // of safetensors and PyTorch files
  GgufMetadata gguf() const;                            // empty for other kinds
  std::vector<SkippedTensor> others() const;            // entries of a PyTorch file that are no tensors
  // What is unusual about how the file is laid out, a sentence each.
  std::vector<std::string> oddities() const;

 private:
  using Any = std::variant<SafetensorsFile, GgufFile, TorchFile>;
  explicit WeightFile(Any file) : file_(std::move(file)) {}
  Any file_;
};

}  // namespace chiaro
