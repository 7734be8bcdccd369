// Orders command buffers, also across queues, by a rising number; a shared event also with the CPU.
#pragma once

#include <functional>

#include "Metal/MTLTypes.hpp"

namespace MTL {

class Device;
class SharedEvent;

using SharedEventNotificationFunction = std::function<void(SharedEvent* pEvent, std::uint64_t value)>;

class Event : public NS::Referencing<Event> {
 public:
  Device* device() const;
  NS::String* label() const;
  void setLabel(const NS::String* label);
};

class SharedEventListener : public NS::Referencing<SharedEventListener> {
 public:
  static SharedEventListener* alloc();
  SharedEventListener* init();
};

class SharedEvent : public NS::Referencing<SharedEvent, Event> {
 public:
  // The function is called once, from another thread or (where the value is reached already) from this one.
  void notifyListener(const MTL::SharedEventListener* listener, uint64_t value,
                      const MTL::SharedEventNotificationFunction& function);
  void setSignaledValue(uint64_t signaledValue);
  uint64_t signaledValue() const;
  // Whether the value was reached in time.
  bool waitUntilSignaledValue(uint64_t value, uint64_t milliseconds);
};

}  // namespace MTL
