#include "core/thread_pool.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace chiaro {
namespace {
// The worker index of this thread while it runs a chunk; -1 outside. Nested loops run inline.
thread_local int t_worker = -1;
}  // namespace

struct ThreadPool::Shared {
  std::mutex turn;  // one loop at a time: held by the caller of parallel_for
  std::mutex mutex;
  std::condition_variable wake, done;
  const std::function<void(int64_t, int)>* job = nullptr;
  const std::atomic<bool>* cancel = nullptr;
  std::atomic<int64_t> next{0};
  int64_t chunks = 0;
  uint64_t generation = 0;
  int running = 0;
  bool stop = false;
  std::exception_ptr thrown;  // the first that left a chunk of this loop
  std::vector<std::thread> workers;

  void take_chunks(int worker) {
    t_worker = worker;
    for (;;) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) break;
      const int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks) break;
      try {
        (*job)(chunk, worker);
      } catch (...) {  // an allocation that was refused; it must not end the process from a worker
        next.store(chunks, std::memory_order_relaxed);
        const std::lock_guard lock(mutex);
        if (thrown == nullptr) thrown = std::current_exception();
      }
    }
    t_worker = -1;
  }
};

ThreadPool::ThreadPool(int threads)
    : threads_(threads > 0 ? std::min(threads, kMostThreads)
                           : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))),
      shared_(std::make_unique<Shared>()) {
  shared_->workers.reserve(static_cast<size_t>(threads_ - 1));
  try {
    for (int w = 1; w < threads_; ++w) shared_->workers.emplace_back([this, w] { worker_loop(w); });
  } catch (const std::system_error&) {  // a limit on processes or memory: slower, never another result
    threads_ = static_cast<int>(shared_->workers.size()) + 1;
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
  }
  shared_->wake.notify_all();
  for (auto& worker : shared_->workers) worker.join();
}

void ThreadPool::worker_loop(int worker) {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(shared_->mutex);
      shared_->wake.wait(lock, [&] { return shared_->stop || shared_->generation != seen; });
      if (shared_->stop) return;
      seen = shared_->generation;
    }
    shared_->take_chunks(worker);
    const std::lock_guard lock(shared_->mutex);
    if (--shared_->running == 0) shared_->done.notify_one();
  }
}

void ThreadPool::parallel_for(int64_t chunks, const std::function<void(int64_t, int)>& f,
                              const std::atomic<bool>* cancel) {
  if (t_worker >= 0 || threads_ == 1 || chunks <= 1) {
    const int worker = t_worker >= 0 ? t_worker : 0;
    for (int64_t c = 0; c < chunks; ++c) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
      f(c, worker);
    }
    return;
  }
  const std::lock_guard turn(shared_->turn);
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->job = &f;
    shared_->cancel = cancel;
    shared_->next.store(0, std::memory_order_relaxed);
    shared_->chunks = chunks;
    shared_->running = threads_ - 1;
    ++shared_->generation;
  }
  shared_->wake.notify_all();
  shared_->take_chunks(0);
  std::unique_lock lock(shared_->mutex);
  shared_->done.wait(lock, [&] { return shared_->running == 0; });
  if (shared_->thrown != nullptr) std::rethrow_exception(std::exchange(shared_->thrown, nullptr));
}

}  // namespace chiaro
