// The Engine's thread pool: data-parallel loops over chunks.
//
// Chunks are cut by the caller from shapes alone; threads only take chunks. So results do not depend on the number of
// threads. Thread rule: call from any thread; loops of different callers take turns, a nested
// call runs inline on the calling worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace chiaro {

class ThreadPool {
 public:
  static constexpr int kMostThreads = 1024;
  // `threads` >= 1 counts the calling thread; 0 or less means one per available core. Fewer are made above kMostThreads
  // and where the system refuses more: threads() says how many.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  // Calls f(chunk, worker) for chunk in [0, chunks), worker in [0, threads()), and returns when all are done.
  // Returns early, with chunks left out, once `*cancel` is true: the caller checks it afterwards.
  // What a chunk throws on any thread is thrown here, once all threads have left the loop.
  void parallel_for(int64_t chunks, const std::function<void(int64_t chunk, int worker)>& f,
                    const std::atomic<bool>* cancel = nullptr);

 private:
  struct Shared;
  void worker_loop(int worker);
  int threads_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace chiaro
