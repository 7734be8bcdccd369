// What stands behind a handle of the API: a node, which counts and never moves, and a body, which goes when the counts
// do. The node stays for a while as a tombstone, so that a later use is found and named.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "fault.h"

namespace softmetal::detail {

struct Node;

struct Body {
  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  virtual ~Body() = default;
  virtual const char* type() const = 0;  // "MTL::Buffer"
  virtual std::string label_text() const { return label; }
  // A copy for the program; null: the object is immutable, and its own copy.
  virtual std::unique_ptr<Body> copied() const { return nullptr; }
  // Called when the program's last count goes, while command buffers may still hold the object.
  virtual void given_up() {}

  Node* node = nullptr;
  std::string label;
};

enum class NodeState : uint8_t { free, live, dead };

struct Node {
  std::atomic<NodeState> state{NodeState::free};
  bool immortal = false;
  bool without_pool = false;  // autoreleased where there was no pool
  int64_t count = 0;          // the program's
  int64_t uses = 0;           // of command buffers, which keep the body alive and are no counts of the program's
  uint64_t serial = 0;
  std::unique_ptr<Body> body;
  const char* type = "";  // kept by a tombstone
  std::string label;
};

// A new object with one count.
void* adopt(std::unique_ptr<Body> body, bool immortal = false);
template <class Handle, class B>
Handle* make(std::unique_ptr<B> body) {
  return static_cast<Handle*>(adopt(std::move(body)));
}

// The body of a live object of class B; else a fault in the name of `call`, and null.
Body* find_body(const void* object, std::string_view call, std::string_view role);
void fault_class(const Body& body, std::string_view call, std::string_view role, const char* wanted);
template <class B>
B* body_of(const void* object, std::string_view call, std::string_view role = "receiver") {
  Body* body = find_body(object, call, role);
  if (body == nullptr) return nullptr;
  auto* found = dynamic_cast<B*>(body);
  if (found == nullptr) fault_class(*body, call, role, B::kType);
  return found;
}
// As body_of, where nil is allowed and gives null.
template <class B>
B* optional_body(const void* object, std::string_view call, std::string_view role) {
  return object == nullptr ? nullptr : body_of<B>(object, call, role);
}

// A use by a command buffer, from encoding until it has completed. Null is allowed.
void hold(Node* node);
void drop(Node* node);
// A command buffer from its commit until its queue's thread holds nothing of it any more. What is held so is no leak.
void flight_begins();
void flight_ends();
// Adds a count, if the program still has one of it.
bool retain_counted(Node* node);
// Adds a count that the program has for the time of a callback.
void lend(Node* node);
void unlend(Node* node);

// The program's count of another object, held by an object.
class Owned {
 public:
  Owned() = default;
  explicit Owned(const void* object) : object_(object) {
    if (object_ != nullptr) retain(object_);
  }
  Owned(Owned&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (object_ != nullptr) release(object_);
  }
  template <class Handle>
  Handle* as() const {
    return static_cast<Handle*>(const_cast<void*>(object_));
  }
  const void* get() const { return object_; }

 private:
  const void* object_ = nullptr;
};

// Autorelease pools of this thread.
void push_pool();
void pop_pool();
struct PoolScope {
  PoolScope() { push_pool(); }
  ~PoolScope() { pop_pool(); }
  PoolScope(const PoolScope&) = delete;
  PoolScope& operator=(const PoolScope&) = delete;
};

// Text for reports: MTL::Buffer "weights".
std::string object_text(const Body& body);
NS::String* make_string(std::string text);  // autoreleased
std::string string_text(const NS::String* string, std::string_view call, std::string_view role = "string");

}  // namespace softmetal::detail
