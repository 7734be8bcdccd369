// PyTorch's checkpoints (.ckpt, .pt, .pth, .bin), read in place: the zip form of torch.save and the form before
// PyTorch 1.6. Their pickles are read without running anything (pickle.h).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "core/tensor.h"
#include "weights/safetensors.h"

namespace chiaro {

inline constexpr size_t kMaxTorchTensors = 262'144;  // the largest checkpoints have some 20,000

// What a checkpoint holds. The tensors are those of its "state_dict" (or "model_state_dict", "params_ema", "params"),
// where the top of it has one, and else all that are in it; names of nested dicts are joined by dots, and "module." or
// "_orig_mod." in front of all names is taken off.
struct TorchContents {
  std::vector<TensorDataPtr> tensors;  // in the order of their names
  std::vector<SkippedTensor> skipped;  // tensors of types or ranks that are not usable, as sorted
  std::vector<SkippedTensor> others;   // entries that are no tensors, and what they are: "global_step", "a number"
  std::map<std::string, std::string> metadata;  // those of them that are short texts and numbers
};

// `file` is the whole file, which `owner` keeps alive; `path` is only for messages. Tensors are windows into it; only
// one whose elements do not lie in order (a transposed one) is copied, and all copies together take no more than the
// file. Errors: bad_file (damaged, cut, no tensors), unsupported (a pickle that asks for more than weights need, naming
// it; compressed, big-endian or TorchScript files).
Result<TorchContents> parse_torch(std::span<const std::byte> file, std::string_view path,
                                  const std::shared_ptr<const void>& owner = nullptr);

// Thread rule: immutable; copies are cheap.
class TorchFile {
 public:
  // Errors: io (missing, unreadable), and those of parse_torch.
  static Result<TorchFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<TensorDataPtr>& tensors() const { return contents_->tensors; }
  // nullptr where there is no usable tensor of this name. O(log n).
  TensorDataPtr find(std::string_view name) const;
  const std::vector<SkippedTensor>& skipped() const { return contents_->skipped; }
  const std::vector<SkippedTensor>& others() const { return contents_->others; }
  const std::map<std::string, std::string>& metadata() const { return contents_->metadata; }

 private:
  TorchFile(std::filesystem::path path, std::shared_ptr<const TorchContents> contents)
      : path_(std::move(path)), contents_(std::move(contents)) {}
  std::filesystem::path path_;
  std::shared_ptr<const TorchContents> contents_;
};

}  // namespace chiaro
