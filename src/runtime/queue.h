// Queues and the events between them.
//
// Every device that a plan uses has a queue: a thread that runs the device's segments in order. Order between queues is
// kept by timelines: a value per queue that only grows, the number of its segments that are done. Whoever must come
// after the third segment of a queue waits for its value 3.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "chiaro/error.h"

namespace chiaro {

// Thread rule: any thread. What a thread wrote before it signalled is seen by who waited for it.
class Timelines {
 public:
  explicit Timelines(size_t queues) : values_(queues, 0) {}
  // All values 0, nothing stopped. Only while no queue runs.
  void restart();
  // Until `queue` has reached `value` (true), or all are stopped (false).
  bool wait(size_t queue, int64_t value);
  void signal(size_t queue, int64_t value);
  // Every wait from now on, and every one under way, ends with false.
  void stop();
  bool stopped() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int64_t> values_;
  bool stopped_ = false;
};

// A thread that runs one job again and again, each time it is asked to. The job must not throw.
// Thread rule: start() and finish() from one thread.
class QueueThread {
 public:
  // Errors: out_of_memory where the system refuses a thread.
  static Result<std::unique_ptr<QueueThread>> create(std::function<void()> job);
  ~QueueThread();  // waits for the job
  QueueThread(const QueueThread&) = delete;
  QueueThread& operator=(const QueueThread&) = delete;
  void start();   // what the caller wrote before is seen by the job
  void finish();  // until the job is done; its writes are seen by the caller

 private:
  explicit QueueThread(std::function<void()> job) : job_(std::move(job)) {}
  void loop();
  std::function<void()> job_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  bool busy_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace chiaro
