#include "runtime/queue.h"

#include <system_error>

namespace chiaro {

void Timelines::restart() {
  const std::lock_guard lock(mutex_);
  values_.assign(values_.size(), 0);
  stopped_ = false;
}

bool Timelines::wait(size_t queue, int64_t value) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || values_[queue] >= value; });
  return !stopped_;
}

void Timelines::signal(size_t queue, int64_t value) {
  {
    const std::lock_guard lock(mutex_);
    values_[queue] = value;
  }
  changed_.notify_all();
}

void Timelines::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

bool Timelines::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

Result<std::unique_ptr<QueueThread>> QueueThread::create(std::function<void()> job) {
  std::unique_ptr<QueueThread> queue(new QueueThread(std::move(job)));
  try {
    queue->thread_ = std::thread([q = queue.get()] { q->loop(); });
  } catch (const std::system_error& e) {
    return Error{ErrorCode::out_of_memory, "the system refused a thread for a device's queue", e.what(), "", ""};
  }
  return queue;
}

QueueThread::~QueueThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void QueueThread::start() {
  {
    const std::lock_guard lock(mutex_);
    busy_ = true;
  }
  wake_.notify_all();
}

void QueueThread::finish() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return !busy_; });
}

void QueueThread::loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || busy_; });
      if (!busy_) return;
    }
    job_();
    {
      const std::lock_guard lock(mutex_);
      busy_ = false;
    }
    done_.notify_all();
  }
}

}  // namespace chiaro
