// Decoding a tensor's numbers and encoding them in another type, in pieces of constant size. Internal to convert.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "core/thread_pool.h"
#include "weights/convert.h"

namespace chiaro {

// Holds the buffers for all tensors of a conversion: 16 MiB and half a MiB for each thread.
class RowConverter {
 public:
  using Sink = std::function<Status(std::span<const std::byte>)>;
  RowConverter(ThreadPool& pool, const std::atomic<bool>* cancel, bool report_error);

  // Encodes `tensor` times `scale` (nullptr, or one number for all or for each row of the first dimension) as
  // `result.to`, and notes in `result` what happened to its numbers. The pieces reach `sink` in order.
  // Errors: cancelled, and those of `sink`.
  Status run(const TensorData& tensor, const TensorData* scale, ConvertedTensor& result, const Sink& sink);
  // The bytes as they are.
  Status copy(const TensorData& tensor, const Sink& sink);

 private:
  struct Piece {  // what one chunk adds to the totals
    int64_t clamped = 0, non_finite = 0;
    double error = 0, square = 0;  // sums of squares
  };
  struct Job {
    const TensorData* tensor;
    std::vector<float> scales;
    int64_t per_scale;  // elements
    DType to;
  };
  Piece convert(const Job& job, int64_t first, int64_t count, int worker, std::byte* out);
  Status check_cancel() const;

  ThreadPool& pool_;
  const std::atomic<bool>* cancel_;
  bool report_error_;
  std::vector<std::byte> out_;
  std::vector<std::vector<float>> values_;  // by worker
  std::vector<Piece> pieces_;
};

}  // namespace chiaro
