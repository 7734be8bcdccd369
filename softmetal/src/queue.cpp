// Queues: each runs its command buffers in order, on a thread of its own.
#include <algorithm>
#include <chrono>

#include "command_buffer.h"

namespace softmetal::detail {
namespace {

std::atomic<uint64_t> g_queues{0};

// Waits until there is room for one more command buffer. False where nobody could make any.
bool take_place(QueueState& state, double seconds) {
  std::unique_lock lock(state.mutex);
  const bool room = state.changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                           [&state] { return state.outstanding < state.most; });
  if (room) ++state.outstanding;
  return room;
}

MTL::CommandBuffer* new_command_buffer(const void* queue, bool retained, const char* call) {
  auto* body = body_of<QueueBody>(queue, call);
  if (body == nullptr || fails(Call::command_buffer)) return nullptr;
  if (!take_place(*body->state, body->device->options.real_watchdog_seconds)) {
    fault(FaultKind::command_buffer, call, "the queue has no place left",
          std::to_string(body->state->most) + " command buffers are neither complete nor released",
          "commit or release them, or give newCommandQueue a larger number");
    return nullptr;
  }
  auto buffer = std::make_unique<CommandBufferBody>(*body);
  buffer->core->retained = retained;
  return make<MTL::CommandBuffer>(std::move(buffer))->autorelease();
}

MTL::CommandQueue* new_queue(const void* object, NS::UInteger most) {
  auto* device = body_of<DeviceBody>(object, "MTL::Device::newCommandQueue");
  if (device == nullptr || fails(Call::new_command_queue) || device->lost) return nullptr;
  return make<MTL::CommandQueue>(std::make_unique<QueueBody>(*device, most));
}

}  // namespace

QueueBody::QueueBody(DeviceBody& its_device, NS::UInteger most) : DeviceObject(its_device) {
  state->id = ++g_queues;
  state->most = most;
}

QueueBody::~QueueBody() {
  {
    const std::lock_guard lock(state->mutex);
    state->stop = true;
  }
  state->changed.notify_all();
  if (!thread.joinable()) return;
  // The last command buffer may have held the queue: then this is the thread itself, which ends alone.
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else {
    thread.join();
  }
}

void QueueBody::start_thread() {
  const std::lock_guard lock(mutex);
  if (!thread.joinable()) thread = std::thread([queue = state] { queue->work(); });
}

void QueueState::work() {
  for (;;) {
    std::shared_ptr<Core> core;
    {
      std::unique_lock lock(mutex);
      const auto ready = [this] {
        if (order.empty()) return false;
        const std::lock_guard inner(order.front()->mutex);
        return order.front()->status >= MTL::CommandBufferStatusCommitted;
      };
      changed.wait(lock, [&] { return stop || ready(); });
      if (!ready()) return;
      core = order.front();
      order.pop_front();
    }
    run_command_buffer(*core);
    {
      const std::lock_guard inner(mutex);
      --outstanding;
    }
    changed.notify_all();
    finish_command_buffer(*core);
    core.reset();
    flight_ends();
  }
}

}  // namespace softmetal::detail

namespace MTL {

using namespace softmetal::detail;  // NOLINT(google-build-using-namespace)
using softmetal::FaultKind;

CommandQueue* Device::newCommandQueue() {
  return new_queue(this, 64);
}
CommandQueue* Device::newCommandQueue(NS::UInteger maxCommandBufferCount) {
  if (maxCommandBufferCount == 0) {
    fault(FaultKind::bad_range, "MTL::Device::newCommandQueue", "a queue of 0 command buffers");
    return nullptr;
  }
  return new_queue(this, maxCommandBufferCount);
}

void CommandQueue::addResidencySet(const MTL::ResidencySet* residencySet) {
  const char* call = "MTL::CommandQueue::addResidencySet";
  auto* body = body_of<QueueBody>(this, call);
  const auto* set = body == nullptr ? nullptr : body_of<ResidencySetBody>(residencySet, call, "the residency set");
  if (set == nullptr || !same_device(*set, *body->device, call, "the residency set")) return;
  const std::lock_guard lock(body->mutex);
  body->residency.emplace_back(residencySet);
}
void CommandQueue::addResidencySets(const MTL::ResidencySet* const residencySets[], NS::UInteger count) {
  for (NS::UInteger i = 0; i < count; ++i) addResidencySet(residencySets[i]);
}
void CommandQueue::removeResidencySet(const MTL::ResidencySet* residencySet) {
  auto* body = body_of<QueueBody>(this, "MTL::CommandQueue::removeResidencySet");
  if (body == nullptr) return;
  std::vector<Owned> kept, gone;
  const std::lock_guard lock(body->mutex);
  for (Owned& one : body->residency) (one.get() == residencySet ? gone : kept).push_back(std::move(one));
  body->residency = std::move(kept);
}
void CommandQueue::removeResidencySets(const MTL::ResidencySet* const residencySets[], NS::UInteger count) {
  for (NS::UInteger i = 0; i < count; ++i) removeResidencySet(residencySets[i]);
}

CommandBuffer* CommandQueue::commandBuffer() {
  return new_command_buffer(this, true, "MTL::CommandQueue::commandBuffer");
}
CommandBuffer* CommandQueue::commandBufferWithUnretainedReferences() {
  return new_command_buffer(this, false, "MTL::CommandQueue::commandBufferWithUnretainedReferences");
}
CommandBuffer* CommandQueue::commandBuffer(const MTL::CommandBufferDescriptor* descriptor) {
  const bool retained = descriptor == nullptr || descriptor->retainedReferences();
  return new_command_buffer(this, retained, "MTL::CommandQueue::commandBuffer");
}
Device* CommandQueue::device() const {
  const auto* body = body_of<QueueBody>(this, "MTL::CommandQueue::device");
  return body == nullptr ? nullptr : body->device_handle();
}
NS::String* CommandQueue::label() const {
  const auto* body = body_of<QueueBody>(this, "MTL::CommandQueue::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
void CommandQueue::setLabel(const NS::String* label) {
  auto* body = body_of<QueueBody>(this, "MTL::CommandQueue::setLabel");
  if (body != nullptr) body->label = string_text(label, "MTL::CommandQueue::setLabel");
}

}  // namespace MTL
