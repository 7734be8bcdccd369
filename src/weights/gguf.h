// GGUF files, read in place and written as a stream.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "core/atomic_file.h"
#include "core/tensor.h"
#include "weights/gguf_values.h"
#include "weights/safetensors.h"

namespace chiaro {

// Tensors are windows into the mapped file and keep the mapping alive; nothing is copied.
// Thread rule: immutable; copies are cheap.
class GgufFile {
 public:
  // Errors: io (missing, unreadable), bad_file and unsupported (see parse_gguf_header).
  static Result<GgufFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return contents_->path; }
  // Usable tensors in the order of their names. A tensor of a block type whose shape was restored may have rows that a
  // block does not divide: see gguf_header.h.
  const std::vector<TensorDataPtr>& tensors() const { return contents_->tensors; }
  // nullptr where there is no usable tensor of this name. O(log n).
  TensorDataPtr find(std::string_view name) const;
  // In the order of their names.
  const std::vector<SkippedTensor>& skipped() const { return contents_->skipped; }
  const GgufMetadata& metadata() const { return contents_->metadata; }
  uint32_t version() const { return contents_->version; }
  uint64_t alignment() const { return contents_->alignment; }
  uint64_t unused_bytes() const { return contents_->unused_bytes; }  // behind the last tensor

 private:
  struct Contents {
    std::filesystem::path path;
    std::vector<TensorDataPtr> tensors;
    std::vector<SkippedTensor> skipped;
    GgufMetadata metadata;
    uint32_t version = 0;
    uint64_t alignment = 0, unused_bytes = 0;
  };
  explicit GgufFile(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}
  std::shared_ptr<const Contents> contents_;
};

// What a tensor will be, before its bytes are there.
struct GgufTensorPlan {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  // Where it is not empty, the shape that the file gives it, of as many elements, so that blocks divide the rows;
  // `shape` is then stored as kGgufShapeKey.
  Shape stored = {};
};

// Writes version 3 with an alignment of 32 bytes. The file appears whole, at commit, or not at all. Memory used is that
// of the header. Usage: create, append the bytes of every tensor in the order of `plans` in pieces of any size, commit.
// Thread rule: one thread at a time.
class GgufWriter {
 public:
  // A tensor of more than four dimensions is stored with the first ones joined, and its shape as kGgufShapeKey.
  // Errors: io; usage (a name or key twice or too long, a key that the writer sets itself); dtype (FP8, a type whose
  // blocks do not divide the rows), naming the tensor.
  static Result<GgufWriter> create(const std::filesystem::path& path, GgufMetadata metadata,
                                   std::vector<GgufTensorPlan> plans);
  // Errors: io; usage (more bytes than the plans take).
  Status append(std::span<const std::byte> bytes);
  // Errors: io; usage (bytes are missing). Nothing is then left behind.
  Status commit();

 private:
  GgufWriter(AtomicFile file, std::vector<GgufTensorPlan> plans, std::string where)
      : file_(std::move(file)), plans_(std::move(plans)), where_(std::move(where)) {}
  Status finish_tensors();  // pads what is complete

  AtomicFile file_;
  std::vector<GgufTensorPlan> plans_;
  std::string where_;
  size_t current_ = 0;    // the tensor that the next byte belongs to
  uint64_t written_ = 0;  // of it
};

// All at once: tensors in the order given.
Status save_gguf(const std::filesystem::path& path, std::span<const TensorDataPtr> tensors, GgufMetadata metadata);

}  // namespace chiaro
