// Packed forms of weights (KernelPlan::packed), made once and shared by all executors of an engine: the plans of a
// session (sizes, batches) read the same ones.
//
// Memory: a packed form is device memory, and lives as long as an executor reads it or someone holds it
// (Executor::packed_weights: a session does, so that its next picture finds it). Once it is made, the pages of the
// file that the weight lies in are dropped from this process's resident memory; who reads the weight as it is gets them
// back from the file.
//
// With a cache (runtime/weight_cache.h) the forms of weights that lie in files are mapped from its files, which are
// written where they are missing: a device that addresses host memory reads them where they lie, shared with other
// processes and given up by the system when memory is short; to others they are uploaded. Either way the bytes are the
// same.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/memory.h"
#include "core/thread_pool.h"
#include "plan/plan.h"
#include "runtime/weight_cache.h"

namespace chiaro {

// The form of an operand in `weight` that `kernel`, on `device`, asks for.
struct PackedRequest {
  Device* device = nullptr;
  TensorDataPtr weight;
  const PlanPacked* form = nullptr;
  const KernelPlan* kernel = nullptr;
};

struct PackingOptions {
  const std::atomic<bool>* cancel = nullptr;
  // While a cache file is written, on the calling thread: bytes that are done and bytes that it will have.
  std::function<void(int64_t done, int64_t all)> on_cache_write = {};
};

// Belongs to an engine. Thread rule: any thread; one form is made at a time.
class PackedWeights {
 public:
  // Without a cache where `cache` is null.
  PackedWeights(ThreadPool& pool, std::shared_ptr<Allocator> allocator, std::unique_ptr<WeightCache> cache = nullptr)
      : pool_(pool), allocator_(std::move(allocator)), cache_(std::move(cache)) {}

  // The forms that a plan reads, in order of the requests; those that nobody has yet are mapped or made. Errors:
  // out_of_memory, unsupported (a weight without data), cancelled (within a chunk of the packing: no form is kept that
  // is not whole), internal (a form outside its weight). Trouble with the cache is a notice.
  Result<std::vector<std::shared_ptr<Buffer>>> get(std::span<const PackedRequest> requests,
                                                   const PackingOptions& options = {});
  // Drops what is still known of forms that nobody holds any more.
  void forget_dropped();

 private:
  struct Packed {
    TensorDataPtr weight;                          // so that no other tensor gets its address while the form lives
    std::shared_ptr<const OpenWeightCache> cache;  // where the buffer is a view of it
    std::unique_ptr<Buffer> buffer;
  };
  using Forms = std::vector<std::shared_ptr<Packed>>;  // by request; null: not there yet
  // Device, first byte of the operand, its description, layout.
  using Key = std::tuple<const Device*, const std::byte*, std::string, std::string>;
  static Key key_of(const PackedRequest& request);
  Status pack(const PackedRequest& request, std::byte* to, const std::atomic<bool>* cancel);
  Result<std::unique_ptr<Buffer>> make(const PackedRequest& request, const std::atomic<bool>* cancel);
  Status take_cached(std::span<const PackedRequest> requests, const PackingOptions& options, Forms& forms);
  Status take_from(const TensorFile& file, std::span<const PackedRequest> requests, std::span<const size_t> members,
                   const PackingOptions& options, Forms& forms);
  Result<std::shared_ptr<const OpenWeightCache>> write_cache(const WeightCache::Set& set,
                                                             std::span<const PackedRequest* const> makers,
                                                             const PackingOptions& options);
  Status append(WeightCacheWriter& writer, const PackedRequest& request, const std::atomic<bool>* cancel,
                Status& written);

  ThreadPool& pool_;
  std::shared_ptr<Allocator> allocator_;
  std::unique_ptr<WeightCache> cache_;
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<Packed>> forms_;
};

}  // namespace chiaro
