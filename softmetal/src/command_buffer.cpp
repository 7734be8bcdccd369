// Command buffers: what the program asks of them.
#include "command_buffer.h"

#include <algorithm>
#include <chrono>

namespace softmetal::detail {
namespace {

struct DescriptorBody final : Body {
  static constexpr const char* kType = "MTL::CommandBufferDescriptor";
  const char* type() const override { return kType; }
  std::unique_ptr<Body> copied() const override {
    auto copy = std::make_unique<DescriptorBody>();
    copy->retained = retained;
    copy->options = options;
    return copy;
  }
  bool retained = true;
  MTL::CommandBufferErrorOption options = MTL::CommandBufferErrorOptionNone;
};

std::atomic<uint64_t> g_observations{0};

// Whether it may still be changed; else a fault.
bool check_open(const CommandBufferBody& body, const char* call, bool encodes) {
  if (body.committed) {
    fault(FaultKind::command_buffer, call, "the command buffer is committed already", object_text(body),
          "take a new one from the queue");
    return false;
  }
  if (encodes && body.open != nullptr) {
    fault(FaultKind::encoder_state, call, "another encoder of the command buffer is open", object_text(*body.open),
          "call its endEncoding first");
    return false;
  }
  return true;
}

Item event_item(CommandBufferBody& body, EventBody& event, uint64_t value, bool signal) {
  Item item;
  item.event = &event;
  item.value = value;
  item.signal = signal;
  body.core->use(event);
  return item;
}

void encode_event(const void* object, const MTL::Event* event, uint64_t value, bool signal, const char* call) {
  auto* body = body_of<CommandBufferBody>(object, call);
  auto* which = body == nullptr ? nullptr : body_of<EventBody>(event, call, "the event");
  if (which == nullptr || !check_open(*body, call, true)) return;
  if (!which->shared && !same_device(*which, *body->device, call, "the event")) return;
  if (signal && value == 0) {
    fault(FaultKind::bad_range, call, "an event is signalled with 0, which it has from the start");
    return;
  }
  body->core->items.push_back(event_item(*body, *which, value, signal));
}

// The copies of what the CPU could write while the command buffer is in flight.
void take_snapshot(Core& core) {
  for (AllocationBody* used : core.used) {
    const auto* buffer = dynamic_cast<const BufferBody*>(used);
    // Also where the program has not asked for contents() yet: it may do so after commit.
    if (buffer == nullptr || buffer->cpu != buffer->gpu) continue;
    core.snapshot.stretches.push_back({buffer->gpu, buffer->length, nullptr, object_text(*buffer)});
  }
  core.has_snapshot = !core.snapshot.stretches.empty();
  if (!core.has_snapshot) return;
  core.cpu_writes = core.device->cpu_writes;
  core.cpu_writes->start(core.snapshot);
}

void commit(CommandBufferBody& body) {
  Core& core = *body.core;
  body.committed = true;
  core.checks = body.device->checks_now();
  core.planned = commit_fails();
  if (fails(Call::device_lost)) body.device->lost = true;
  core.label = body.label;
  core.order->queue = body.queue->state->id;
  core.order->horizon = observation_now();
  {
    const std::lock_guard lock(body.queue->mutex);
    for (const Owned& set : body.queue->residency) {
      auto* one = body_of<ResidencySetBody>(set.get(), "MTL::CommandBuffer::commit", "a residency set");
      if (one == nullptr) continue;
      core.use(*one);
      core.residency.push_back(one);
    }
  }
  if (core.checks.kernels && core.checks.cpu_writes) take_snapshot(core);
  core.node = body.node;
  flight_begins();
  hold(body.node);
  {
    const std::lock_guard lock(core.mutex);
    core.status = MTL::CommandBufferStatusCommitted;
  }
  {
    QueueState& state = *body.queue->state;
    const std::lock_guard lock(state.mutex);
    if (!body.enqueued) state.order.push_back(body.core);
    state.unobserved.push_back(body.core);
  }
  body.queue->start_thread();
  body.queue->state->changed.notify_all();
}

void note_complete(Core& core) {
  const uint64_t now = ++g_observations;
  std::vector<std::shared_ptr<Core>> before;
  {
    // Those before it in its queue are complete too.
    const std::lock_guard lock(core.queue->mutex);
    auto& all = core.queue->unobserved;
    size_t end = 0;
    while (end < all.size()) {
      const std::shared_ptr<Core> one = all[end++].lock();
      if (one == nullptr) continue;
      before.push_back(one);
      if (one.get() == &core) break;
    }
    if (!before.empty() && before.back().get() == &core) {
      all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  for (const auto& one : before) {
    if (one->order->observed_at == 0) one->order->observed_at = now;
  }
  if (core.order->observed_at == 0) core.order->observed_at = now;
}

}  // namespace

uint64_t observation_now() {
  return g_observations;
}

void observe(Core& core) {
  {
    std::unique_lock lock(core.mutex);
    const auto self = std::this_thread::get_id();
    if (core.observed == Core::Observed::now && core.observer == self) return;  // from a handler of faults
    core.changed.wait(lock, [&core] { return core.observed != Core::Observed::now; });
    if (core.observed == Core::Observed::yes) return;
    core.observed = Core::Observed::now;
    core.observer = self;
  }
  if (core.has_snapshot) {
    std::vector<std::string> written;
    {
      const std::lock_guard lock(core.device->running);
      written = core.cpu_writes->settle(core.snapshot);
      core.has_snapshot = false;
    }
    for (const std::string& place : written) {
      fault(FaultKind::in_flight, "MTL::CommandBuffer", "the CPU wrote into a buffer while a command buffer used it",
            place + ", between commit and waitUntilCompleted", "write before commit, or after the wait");
    }
  }
  note_complete(core);
  core.let_go();
  {
    const std::lock_guard lock(core.mutex);
    core.observed = Core::Observed::yes;
  }
  core.changed.notify_all();
}

Core::~Core() {
  // The device may have gone with the command buffer's object.
  if (has_snapshot) cpu_writes->drop(snapshot);
  let_go();
}

void Core::fail_with(MTL::CommandBufferError its_code, std::string its_what, std::string its_why,
                     std::string its_mend) {
  const std::lock_guard lock(mutex);
  if (code != MTL::CommandBufferErrorNone) return;
  code = its_code;
  what = std::move(its_what);
  why = std::move(its_why);
  mend = std::move(its_mend);
}

void Core::use(Body& body) {
  if (!held_set.insert(&body).second) return;
  hold(body.node);
  held.push_back(body.node);
  auto* allocation = dynamic_cast<AllocationBody*>(&body);
  if (allocation == nullptr) return;
  used.push_back(allocation);
  if (!retained) ++allocation->unretained_uses;
}

void Core::let_go() {
  std::vector<Node*> gone;
  {
    const std::lock_guard lock(mutex);
    gone.swap(held);
    if (!retained) {
      for (AllocationBody* allocation : used) --allocation->unretained_uses;
    }
    used.clear();
    residency.clear();
    held_set.clear();
  }
  for (Node* one : gone) drop(one);
}

CommandBufferBody::CommandBufferBody(QueueBody& its_queue)
    : DeviceObject(*its_queue.device), queue_ref(its_queue.node), queue(&its_queue) {
  core->device = its_queue.device;
  core->queue = its_queue.state;
}

CommandBufferBody::~CommandBufferBody() {
  if (!committed) {
    QueueState& state = *queue->state;
    {
      const std::lock_guard lock(state.mutex);
      --state.outstanding;
      state.order.erase(std::remove(state.order.begin(), state.order.end(), core), state.order.end());
    }
    state.changed.notify_all();
    return;
  }
  const std::unique_lock lock(core->mutex);
  if (core->status != MTL::CommandBufferStatusError || core->error_read) return;
  fault(FaultKind::unread_error, "MTL::CommandBuffer", "a command buffer failed and nobody asked",
        core->what + (core->why.empty() ? "" : ": " + core->why), "look at status() or error() when it is complete");
}

}  // namespace softmetal::detail

namespace MTL {

using namespace softmetal::detail;  // NOLINT(google-build-using-namespace)
using softmetal::FaultKind;

CommandBufferDescriptor* CommandBufferDescriptor::alloc() {
  return make<CommandBufferDescriptor>(std::make_unique<DescriptorBody>());
}
CommandBufferDescriptor* CommandBufferDescriptor::init() {
  return this;
}
CommandBufferErrorOption CommandBufferDescriptor::errorOptions() const {
  const auto* body = body_of<DescriptorBody>(this, "MTL::CommandBufferDescriptor::errorOptions");
  return body == nullptr ? 0 : body->options;
}
bool CommandBufferDescriptor::retainedReferences() const {
  const auto* body = body_of<DescriptorBody>(this, "MTL::CommandBufferDescriptor::retainedReferences");
  return body == nullptr || body->retained;
}
void CommandBufferDescriptor::setErrorOptions(MTL::CommandBufferErrorOption errorOptions) {
  auto* body = body_of<DescriptorBody>(this, "MTL::CommandBufferDescriptor::setErrorOptions");
  if (body != nullptr) body->options = errorOptions;
}
void CommandBufferDescriptor::setRetainedReferences(bool retainedReferences) {
  auto* body = body_of<DescriptorBody>(this, "MTL::CommandBufferDescriptor::setRetainedReferences");
  if (body != nullptr) body->retained = retainedReferences;
}

CFTimeInterval CommandBuffer::GPUStartTime() const {
  const auto* body = body_of<CommandBufferBody>(this, "MTL::CommandBuffer::GPUStartTime");
  if (body == nullptr) return 0;
  const std::lock_guard lock(body->core->mutex);
  return body->core->done() ? body->core->start : 0;
}
CFTimeInterval CommandBuffer::GPUEndTime() const {
  const auto* body = body_of<CommandBufferBody>(this, "MTL::CommandBuffer::GPUEndTime");
  if (body == nullptr) return 0;
  const std::lock_guard lock(body->core->mutex);
  return body->core->done() ? body->core->end : 0;
}
CFTimeInterval CommandBuffer::kernelStartTime() const {
  return GPUStartTime();
}
CFTimeInterval CommandBuffer::kernelEndTime() const {
  return GPUEndTime();
}

void CommandBuffer::addCompletedHandler(const MTL::HandlerFunction& function) {
  const char* call = "MTL::CommandBuffer::addCompletedHandler";
  auto* body = body_of<CommandBufferBody>(this, call);
  if (body != nullptr && check_open(*body, call, false)) body->core->completed_handlers.push_back(function);
}
void CommandBuffer::addScheduledHandler(const MTL::HandlerFunction& function) {
  const char* call = "MTL::CommandBuffer::addScheduledHandler";
  auto* body = body_of<CommandBufferBody>(this, call);
  if (body != nullptr && check_open(*body, call, false)) body->core->scheduled_handlers.push_back(function);
}

BlitCommandEncoder* CommandBuffer::blitCommandEncoder() {
  const char* call = "MTL::CommandBuffer::blitCommandEncoder";
  auto* body = body_of<CommandBufferBody>(this, call);
  if (body == nullptr || !check_open(*body, call, true) || fails(softmetal::Call::encoder)) return nullptr;
  return make<BlitCommandEncoder>(std::make_unique<EncoderBody>(*body, false, DispatchTypeSerial))->autorelease();
}
ComputeCommandEncoder* CommandBuffer::computeCommandEncoder(MTL::DispatchType dispatchType) {
  const char* call = "MTL::CommandBuffer::computeCommandEncoder";
  auto* body = body_of<CommandBufferBody>(this, call);
  if (body == nullptr || !check_open(*body, call, true) || fails(softmetal::Call::encoder)) return nullptr;
  return make<ComputeCommandEncoder>(std::make_unique<EncoderBody>(*body, true, dispatchType))->autorelease();
}
ComputeCommandEncoder* CommandBuffer::computeCommandEncoder() {
  return computeCommandEncoder(DispatchTypeSerial);
}

CommandQueue* CommandBuffer::commandQueue() const {
  const auto* body = body_of<CommandBufferBody>(this, "MTL::CommandBuffer::commandQueue");
  return body == nullptr ? nullptr : body->queue_ref.as<CommandQueue>();
}
Device* CommandBuffer::device() const {
  const auto* body = body_of<CommandBufferBody>(this, "MTL::CommandBuffer::device");
  return body == nullptr ? nullptr : body->device_handle();
}

void CommandBuffer::commit() {
  const char* call = "MTL::CommandBuffer::commit";
  auto* body = body_of<CommandBufferBody>(this, call);
  if (body != nullptr && check_open(*body, call, true)) softmetal::detail::commit(*body);
}
void CommandBuffer::enqueue() {
  const char* call = "MTL::CommandBuffer::enqueue";
  auto* body = body_of<CommandBufferBody>(this, call);
  if (body == nullptr || !check_open(*body, call, false)) return;
  if (body->enqueued) {
    fault(FaultKind::command_buffer, call, "the command buffer is enqueued already", object_text(*body));
    return;
  }
  body->enqueued = true;
  QueueState& state = *body->queue->state;
  const std::lock_guard lock(state.mutex);
  state.order.push_back(body->core);
  const std::lock_guard inner(body->core->mutex);
  body->core->status = CommandBufferStatusEnqueued;
}

void CommandBuffer::encodeSignalEvent(const MTL::Event* event, uint64_t value) {
  encode_event(this, event, value, true, "MTL::CommandBuffer::encodeSignalEvent");
}
void CommandBuffer::encodeWait(const MTL::Event* event, uint64_t value) {
  encode_event(this, event, value, false, "MTL::CommandBuffer::encodeWait");
}

NS::Error* CommandBuffer::error() const {
  const auto* body = body_of<CommandBufferBody>(this, "MTL::CommandBuffer::error");
  if (body == nullptr) return nullptr;
  const std::lock_guard lock(body->core->mutex);
  body->core->error_read = body->core->error_read || body->core->done();
  if (body->core->status != CommandBufferStatusError) return nullptr;
  return make_error(kCommandBufferDomain, static_cast<NS::Integer>(body->core->code), body->core->what, body->core->why,
                    body->core->mend);
}
CommandBufferErrorOption CommandBuffer::errorOptions() const {
  return CommandBufferErrorOptionNone;
}
NS::String* CommandBuffer::label() const {
  const auto* body = body_of<CommandBufferBody>(this, "MTL::CommandBuffer::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
void CommandBuffer::setLabel(const NS::String* label) {
  auto* body = body_of<CommandBufferBody>(this, "MTL::CommandBuffer::setLabel");
  if (body != nullptr) body->label = string_text(label, "MTL::CommandBuffer::setLabel");
}
void CommandBuffer::popDebugGroup() {
  (void)body_of<CommandBufferBody>(this, "MTL::CommandBuffer::popDebugGroup");
}
void CommandBuffer::pushDebugGroup(const NS::String*) {
  (void)body_of<CommandBufferBody>(this, "MTL::CommandBuffer::pushDebugGroup");
}
bool CommandBuffer::retainedReferences() const {
  const auto* body = body_of<CommandBufferBody>(this, "MTL::CommandBuffer::retainedReferences");
  return body == nullptr || body->core->retained;
}

CommandBufferStatus CommandBuffer::status() const {
  const auto* body = body_of<CommandBufferBody>(this, "MTL::CommandBuffer::status");
  if (body == nullptr) return CommandBufferStatusNotEnqueued;
  CommandBufferStatus status;
  {
    const std::lock_guard lock(body->core->mutex);
    status = body->core->status;
    body->core->error_read = body->core->error_read || body->core->done();
  }
  if (status >= CommandBufferStatusCompleted) observe(*body->core);
  return status;
}

void CommandBuffer::useResidencySet(const MTL::ResidencySet* residencySet) {
  const char* call = "MTL::CommandBuffer::useResidencySet";
  auto* body = body_of<CommandBufferBody>(this, call);
  auto* set = body == nullptr ? nullptr : body_of<ResidencySetBody>(residencySet, call, "the residency set");
  if (set == nullptr || !check_open(*body, call, false)) return;
  if (!same_device(*set, *body->device, call, "the residency set")) return;
  body->core->use(*set);
  body->core->residency.push_back(set);
}
void CommandBuffer::useResidencySets(const MTL::ResidencySet* const residencySets[], NS::UInteger count) {
  for (NS::UInteger i = 0; i < count; ++i) useResidencySet(residencySets[i]);
}

void CommandBuffer::waitUntilCompleted() {
  const char* call = "MTL::CommandBuffer::waitUntilCompleted";
  auto* body = body_of<CommandBufferBody>(this, call);
  if (body == nullptr) return;
  if (!body->committed) {
    fault(FaultKind::command_buffer, call, "the command buffer is not committed: it will never complete",
          object_text(*body), "call commit first");
    return;
  }
  bool own_handler = false;
  {
    std::unique_lock lock(body->core->mutex);
    own_handler = !body->core->handlers_done && body->core->handler_thread == std::this_thread::get_id();
    if (!own_handler) body->core->changed.wait(lock, [body] { return body->core->handlers_done; });
  }
  if (own_handler) {
    fault(FaultKind::command_buffer, call, "a handler waits for its own command buffer", object_text(*body),
          "it waits for its handlers: this would never end");
    return;
  }
  observe(*body->core);
}
void CommandBuffer::waitUntilScheduled() {
  const char* call = "MTL::CommandBuffer::waitUntilScheduled";
  auto* body = body_of<CommandBufferBody>(this, call);
  if (body == nullptr) return;
  if (!body->committed) {
    fault(FaultKind::command_buffer, call, "the command buffer is not committed: it will never be scheduled",
          object_text(*body), "call commit first");
    return;
  }
  std::unique_lock lock(body->core->mutex);
  body->core->changed.wait(lock, [body] { return body->core->status >= CommandBufferStatusScheduled; });
}

}  // namespace MTL
