// What a CPU kernel's run() gets: pointers, scratch and the thread pool.
#pragma once

#include <atomic>
#include <span>

#include "core/thread_pool.h"
#include "ops/kernel.h"

namespace chiaro {

// Pointers are to the first element of each operand's view; nullptr for an absent input. For an in-place op
// out == in(0). `scratch` has the bytes that the plan asked for, aligned to 64, with unknown contents.
struct CpuRun final : LaunchContext {
  std::span<const std::byte* const> inputs;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
  ThreadPool* pool = nullptr;
  const std::atomic<bool>* cancel = nullptr;

  template <class T>
  const T* in(int i) const {
    return reinterpret_cast<const T*>(inputs[static_cast<size_t>(i)]);
  }
  template <class T>
  T* out() const {
    return reinterpret_cast<T*>(output);
  }
  // Chunks are cut by shape alone; see core/thread_pool.h.
  void parallel_for(int64_t chunks, const std::function<void(int64_t chunk, int worker)>& f) const {
    pool->parallel_for(chunks, f, cancel);
  }
};

}  // namespace chiaro
