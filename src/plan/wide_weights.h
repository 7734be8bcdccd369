// FP8 weights as f16 or bf16, made once for all plans of an engine that read them so (the cast stage of `legalise`).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "core/memory.h"
#include "core/tensor.h"

namespace chiaro {

// Belongs to an engine; what it handed out outlives it. Thread rule: any thread; one weight is widened at a time.
class WideWeights {
 public:
  explicit WideWeights(std::shared_ptr<Allocator> allocator) : allocator_(std::move(allocator)) {}

  // The elements of `view`, which begins `offset` bytes into the FP8 weight `narrow`, dense, as `dtype` (f16 or bf16,
  // which hold every code exactly). Lives as long as someone holds it. Errors: out_of_memory.
  Result<TensorDataPtr> get(const TensorDataPtr& narrow, const TensorDesc& view, int64_t offset, DType dtype);

 private:
  // The weight, offset, view, dtype.
  using Key = std::tuple<const TensorData*, int64_t, std::string, DType>;
  std::shared_ptr<Allocator> allocator_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const TensorData>> known_;
};

}  // namespace chiaro
