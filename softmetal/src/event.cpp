// Events and shared events.
#include <chrono>

#include "command_buffer.h"

namespace softmetal::detail {
namespace {

struct ListenerBody final : Body {
  static constexpr const char* kType = "MTL::SharedEventListener";
  const char* type() const override { return kType; }
};

template <class Handle>
Handle* new_event(const void* object, bool shared, const char* call) {
  auto* device = body_of<DeviceBody>(object, call);
  if (device == nullptr || fails(Call::new_event)) return nullptr;
  return make<Handle>(std::make_unique<EventBody>(*device, shared));
}

EventBody* shared_body(const void* object, const char* call) {
  auto* body = body_of<EventBody>(object, call);
  if (body == nullptr || body->shared) return body;
  fault_class(*body, call, "receiver", "MTL::SharedEvent");
  return nullptr;
}

}  // namespace

void EventBody::signal(uint64_t to) {
  std::vector<Listener> called;
  {
    const std::lock_guard lock(mutex);
    if (to > value) value = to;
    for (size_t i = listeners.size(); i-- > 0;) {
      if (listeners[i].value > value) continue;
      called.insert(called.begin(), std::move(listeners[i]));
      listeners.erase(listeners.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  changed.notify_all();
  if (called.empty()) return;
  const PoolScope pool;
  lend(node);
  for (const Listener& one : called) one.function(reinterpret_cast<MTL::SharedEvent*>(node), one.value);
  unlend(node);
}

}  // namespace softmetal::detail

namespace MTL {

using namespace softmetal::detail;  // NOLINT(google-build-using-namespace)
using softmetal::FaultKind;

Event* Device::newEvent() {
  return new_event<Event>(this, false, "MTL::Device::newEvent");
}
SharedEvent* Device::newSharedEvent() {
  return new_event<SharedEvent>(this, true, "MTL::Device::newSharedEvent");
}
Device* Event::device() const {
  const auto* body = body_of<EventBody>(this, "MTL::Event::device");
  return body == nullptr ? nullptr : body->device_handle();
}
NS::String* Event::label() const {
  const auto* body = body_of<EventBody>(this, "MTL::Event::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
void Event::setLabel(const NS::String* label) {
  auto* body = body_of<EventBody>(this, "MTL::Event::setLabel");
  if (body != nullptr) body->label = string_text(label, "MTL::Event::setLabel");
}

SharedEventListener* SharedEventListener::alloc() {
  return make<SharedEventListener>(std::make_unique<ListenerBody>());
}
SharedEventListener* SharedEventListener::init() {
  return this;
}

void SharedEvent::notifyListener(const MTL::SharedEventListener* listener, uint64_t value,
                                 const MTL::SharedEventNotificationFunction& function) {
  const char* call = "MTL::SharedEvent::notifyListener";
  auto* body = shared_body(this, call);
  if (body == nullptr || body_of<ListenerBody>(listener, call, "the listener") == nullptr) return;
  {
    const std::lock_guard lock(body->mutex);
    body->listeners.push_back({value, function});
  }
  body->signal(0);  // calls it at once where the value is reached
}
void SharedEvent::setSignaledValue(uint64_t signaledValue) {
  const char* call = "MTL::SharedEvent::setSignaledValue";
  auto* body = shared_body(this, call);
  if (body == nullptr) return;
  {
    const std::lock_guard lock(body->mutex);
    if (signaledValue < body->value) {
      fault(FaultKind::bad_range, call, "the value of an event only rises",
            std::to_string(signaledValue) + " after " + std::to_string(body->value));
      return;
    }
    body->horizons[signaledValue] = observation_now();
    body->clocks[signaledValue] = body->clocks.empty() ? Clock{} : body->clocks.rbegin()->second;
  }
  body->signal(signaledValue);
}
uint64_t SharedEvent::signaledValue() const {
  auto* body = shared_body(this, "MTL::SharedEvent::signaledValue");
  if (body == nullptr) return 0;
  const std::lock_guard lock(body->mutex);
  return body->value;
}
bool SharedEvent::waitUntilSignaledValue(uint64_t value, uint64_t milliseconds) {
  auto* body = shared_body(this, "MTL::SharedEvent::waitUntilSignaledValue");
  if (body == nullptr) return false;
  std::unique_lock lock(body->mutex);
  return body->changed.wait_for(lock, std::chrono::milliseconds(milliseconds),
                                [body, value] { return body->value >= value; });
}

}  // namespace MTL
