// safetensors files, read in place and written whole.
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

namespace chiaro {

// A tensor of the file that cannot be used here, with the reason ("unsupported dtype I64").
struct SkippedTensor {
  std::string name;
  std::string reason;
};

// Tensors are windows into the mapped file and keep the mapping alive; nothing is copied. Their bytes lie where the
// file has them, so they may be unaligned for their dtype: loaders copy where a kernel needs alignment.
// Thread rule: immutable; copies are cheap.
class SafetensorsFile {
 public:
  // Errors: io (missing, unreadable), bad_file (see parse_safetensors_header).
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return contents_->path; }
  // Usable tensors in the order of their names.
  const std::vector<TensorDataPtr>& tensors() const { return contents_->tensors; }
  // nullptr where there is no usable tensor of this name. O(log n).
  TensorDataPtr find(std::string_view name) const;
  // In the order of their names.
  const std::vector<SkippedTensor>& skipped() const { return contents_->skipped; }
  const std::map<std::string, std::string>& metadata() const { return contents_->metadata; }

 private:
  struct Contents {
    std::filesystem::path path;
    std::vector<TensorDataPtr> tensors;
    std::vector<SkippedTensor> skipped;
    std::map<std::string, std::string> metadata;
  };
  explicit SafetensorsFile(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}
  std::shared_ptr<const Contents> contents_;
};

// Writes `tensors` (dense, plain dtypes) as the reference package lays them out: by dtype from wide to narrow, then by
// name, header padded with spaces to 8 bytes. The file appears whole or not at all. Metadata keys are sorted, so equal
// input gives equal bytes.
// Errors: io (disk full, permission); usage (a name twice, a name or text that is not UTF-8); dtype (block formats).
Status save_safetensors(const std::filesystem::path& path, std::span<const TensorDataPtr> tensors,
                        const std::map<std::string, std::string>& metadata = {});

}  // namespace chiaro
