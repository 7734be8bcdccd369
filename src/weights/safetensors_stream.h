// Writing a safetensors file larger than memory: the header first, then the tensors piece by piece.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "chiaro/error.h"
#include "core/atomic_file.h"
#include "core/shape.h"

namespace chiaro {

struct PlannedTensor {
  std::string name;
  TensorDesc desc;  // dense, of a plain dtype
};

// Usage: create, write the bytes of every tensor in `order()`, in pieces of any size, commit. Destroyed before, nothing
// of it is left. Thread rule: one thread at a time.
class SafetensorsStream {
 public:
  // Errors: io; usage (a name twice, text that is not UTF-8); dtype (block formats).
  static Result<SafetensorsStream> create(const std::filesystem::path& path, std::vector<PlannedTensor> tensors,
                                          const std::map<std::string, std::string>& metadata = {});

  // The tensors as the reference package lays them out: by dtype from wide to narrow, then by name.
  const std::vector<PlannedTensor>& order() const { return order_; }
  int64_t total_bytes() const { return total_; }  // of all tensors
  // Errors: io; internal where it is more than the tensors have.
  Status write(std::span<const std::byte> bytes);
  // Errors: io; internal where tensors are not complete.
  Status commit();

 private:
  SafetensorsStream(AtomicFile file, std::vector<PlannedTensor> order, int64_t total)
      : file_(std::move(file)), order_(std::move(order)), total_(total) {}
  AtomicFile file_;
  std::vector<PlannedTensor> order_;
  int64_t total_ = 0, written_ = 0;
};

}  // namespace chiaro
