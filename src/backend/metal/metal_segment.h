// A segment of a Metal device, and one run of it.
//
// A run commits a few command buffers ahead; each one's completion commits the next, so submit never blocks and a
// cancel is noticed between command buffers. A fence orders each after the one before, as nothing is tracked.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/metal/metal_commands.h"
#include "backend/metal/metal_residency.h"

namespace chiaro {

// What a run needs of its device. Outlives it.
struct MetalQueue {
  MTL::Device& device;
  MTL::CommandQueue& queue;
  MetalResidency& residency;
  std::string name;  // of the device, for errors
};

// One run, shared with the completion handlers of its command buffers.
// Thread rule: start() once; wait() from one thread; handlers from any.
class MetalRun : public std::enable_shared_from_this<MetalRun> {
 public:
  // `commands`, `queue` and `cancel` (may be null) live until wait() has returned. `timed`: a command buffer for each
  // launch.
  MetalRun(MetalQueue& queue, const MetalCommands& commands, MTL::Fence& fence, const std::atomic<bool>* cancel,
           bool timed);
  void start() { pump(); }
  // Until nothing runs any more. The first error of the run, once.
  Status wait();
  // After wait(): seconds on the GPU, per command buffer; with `timed` per launch.
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  void pump();
  bool may_commit();
  Status commit(size_t chunk);
  void completed(size_t chunk, MTL::CommandBuffer& buffer);
  size_t end_of(size_t chunk) const;
  std::string launches_of(size_t chunk) const;

  MetalQueue& queue_;
  const MetalCommands& commands_;
  MTL::Fence& fence_;
  const std::atomic<bool>* cancel_;
  const std::vector<uint32_t>& cuts_;
  std::mutex mutex_;
  std::condition_variable done_changed_;
  size_t next_ = 0;  // command buffer to commit
  int in_flight_ = 0;
  bool pumping_ = false, again_ = false, done_ = false;
  std::optional<Error> error_;
  std::vector<double> seconds_;
};

class MetalSegment final : public CompiledSegment {
 public:
  MetalSegment(MetalCommands made, NS::SharedPtr<MTL::Fence> made_fence)
      : commands(std::move(made)), fence(std::move(made_fence)) {}
  ~MetalSegment() override;

  const MetalCommands commands;
  const NS::SharedPtr<MTL::Fence> fence;
  std::shared_ptr<MetalRun> run;  // of the last submit, until wait takes it
  LaunchTimer timer;              // of that run
};

}  // namespace chiaro
