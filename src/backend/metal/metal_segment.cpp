#include "backend/metal/metal_segment.h"

#include "backend/metal/metal_error.h"

namespace chiaro {
namespace {

constexpr int kInFlight = 2;  // one runs, one waits: the GPU never idles between them

}  // namespace

MetalRun::MetalRun(MetalQueue& queue, const MetalCommands& commands, MTL::Fence& fence, const std::atomic<bool>* cancel,
                   bool timed)
    : queue_(queue),
      commands_(commands),
      fence_(fence),
      cancel_(cancel),
      cuts_(timed ? commands.launch_cuts : commands.cuts),
      seconds_(cuts_.size(), 0) {}

size_t MetalRun::end_of(size_t chunk) const {
  return chunk + 1 < cuts_.size() ? cuts_[chunk + 1] : commands_.steps.size();
}

std::string MetalRun::launches_of(size_t chunk) const {
  const std::string& first = commands_.labels[commands_.steps[cuts_[chunk]].launch];
  const std::string& last = commands_.labels[commands_.steps[end_of(chunk) - 1].launch];
  return first == last ? first : first + " to " + last;
}

Status MetalRun::commit(size_t chunk) {
  const MetalPool pool;
  queue_.residency.settle();
  // Segments keep their buffers, and devices their pipelines, until the run has ended.
  MTL::CommandBuffer* const buffer = queue_.queue.commandBufferWithUnretainedReferences();
  if (buffer == nullptr) return metal_nil(queue_.name, "command buffer");
  MTL::ComputeCommandEncoder* const encoder = buffer->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  if (encoder == nullptr) return metal_nil(queue_.name, "encoder");
  if (chunk > 0) encoder->waitForFence(&fence_);
  encode_commands(*encoder, commands_, cuts_[chunk], end_of(chunk));
  if (chunk + 1 < cuts_.size()) encoder->updateFence(&fence_);
  encoder->endEncoding();
  buffer->addCompletedHandler(
      [run = shared_from_this(), chunk](MTL::CommandBuffer* ended) { run->completed(chunk, *ended); });
  buffer->commit();
  return {};
}

void MetalRun::completed(size_t chunk, MTL::CommandBuffer& buffer) {
  const MetalPool pool;
  std::optional<Error> error;
  if (buffer.status() == MTL::CommandBufferStatusError) {
    error = command_buffer_error(buffer.error(), queue_.name, launches_of(chunk));
  }
  const double seconds = buffer.GPUEndTime() - buffer.GPUStartTime();
  {
    const std::lock_guard lock(mutex_);
    seconds_[chunk] = seconds;
    if (error && !error_) error_ = std::move(error);
    --in_flight_;
  }
  pump();
}

// Under the lock: whether the next command buffer is to be committed now.
bool MetalRun::may_commit() {
  if (error_ || next_ == cuts_.size() || in_flight_ >= kInFlight) return false;
  if (cancel_ != nullptr && cancel_->load()) {
    error_ = Error{ErrorCode::cancelled, "stopped on request", "", "", launches_of(next_)};
    return false;
  }
  return true;
}

// Commits what may be committed. One thread at a time; a handler that comes meanwhile (on another thread, or inside
// commit()) leaves the work to it.
void MetalRun::pump() {
  std::unique_lock lock(mutex_);
  again_ = true;
  if (pumping_) return;
  pumping_ = true;
  while (again_) {
    again_ = false;
    while (may_commit()) {
      const size_t chunk = next_++;
      ++in_flight_;
      lock.unlock();
      Status status = commit(chunk);
      lock.lock();
      if (status.ok()) continue;
      --in_flight_;
      if (!error_) error_ = std::move(status).error();
    }
  }
  pumping_ = false;
  if (in_flight_ > 0) return;
  done_ = true;
  done_changed_.notify_all();
}

Status MetalRun::wait() {
  std::unique_lock lock(mutex_);
  done_changed_.wait(lock, [&] { return done_; });
  if (!error_) return {};
  Error error = std::move(*error_);
  error_.reset();
  return error;
}

MetalSegment::~MetalSegment() {
  if (run) (void)run->wait();
  const MetalPool pool;
}

}  // namespace chiaro
