#include "node.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "options.h"

namespace softmetal::detail {
namespace {

constexpr size_t kTombstones = 1 << 16;

// All nodes there ever were. They are never given back to the system: a stale handle stays readable.
struct Nodes {
  std::mutex mutex;
  std::deque<Node> all;
  std::unordered_set<const void*> known;
  std::deque<Node*> tombs;  // the oldest is used again first
  uint64_t serial = 0;
  int64_t in_flight = 0;
  std::condition_variable landed;
};
constexpr std::chrono::seconds kLanding{10};  // at the end of the process

void report_leaks();

Nodes& nodes() {
  static Nodes* all = [] {
    std::atexit(report_leaks);
    return new Nodes;
  }();
  return *all;
}

Node* take_node(Nodes& n) {
  if (n.tombs.size() >= kTombstones) {
    Node* node = n.tombs.front();
    n.tombs.pop_front();
    return node;
  }
  Node* node = &n.all.emplace_back();
  n.known.insert(node);
  return node;
}

std::string describe(const char* type, const std::string& label) {
  return label.empty() ? std::string(type) : std::string(type) + " \"" + label + "\"";
}

// Null, and a fault, unless it is a live object that the program has a count of.
Node* find_node(const void* object, std::string_view call, std::string_view role) {
  const bool receiver = role == "receiver";
  if (object == nullptr) {
    fault(FaultKind::nil_object, call, receiver ? "called on nil" : std::string(role) + " is nil",
          "on a Mac a message to nil returns zero, and the mistake shows later", "check what new... returned");
    return nullptr;
  }
  std::string dead;
  {
    Nodes& n = nodes();
    const std::lock_guard lock(n.mutex);
    if (n.known.count(object) != 0) {
      auto* node = static_cast<Node*>(const_cast<void*>(object));
      if (node->state == NodeState::live && (node->count > 0 || node->immortal)) return node;
      dead = describe(node->type, node->label) + ", object " + std::to_string(node->serial);
    }
  }
  const std::string who = receiver ? "the object" : std::string(role);
  if (dead.empty()) {
    fault(FaultKind::wrong_class, call, who + " is no object of softmetal", "", "");
  } else {
    fault(FaultKind::use_after_release, call, who + " was released before", dead, "keep a count as long as it is used");
  }
  return nullptr;
}

// With the lock held: whether the body goes now.
std::unique_ptr<Body> bury(Nodes& n, Node* node) {
  if (node->count > 0 || node->uses > 0 || node->state != NodeState::live) return nullptr;
  node->state = NodeState::dead;
  n.tombs.push_back(node);
  return std::move(node->body);
}

void report_leaks() {
  const LeakReport mode = environment().leaks;
  if (mode == LeakReport::off) return;
  {
    Nodes& n = nodes();
    std::unique_lock lock(n.mutex);
    n.landed.wait_for(lock, kLanding, [&n] { return n.in_flight == 0; });
  }
  const std::vector<LiveObject> alive = live_objects();
  if (alive.empty()) return;
  std::fprintf(stderr, "softmetal fault[leak] %zu objects are alive at the end of the process\n", alive.size());
  size_t printed = 0;
  for (const LiveObject& object : alive) {
    if (printed++ == 40) break;
    std::fprintf(stderr, "  %s, object %llu, %lld counts%s\n", describe(object.type.c_str(), object.label).c_str(),
                 static_cast<unsigned long long>(object.serial), static_cast<long long>(object.count),
                 object.without_pool ? ": autoreleased where there was no pool" : "");
  }
  if (mode == LeakReport::fatal) {
    std::fflush(nullptr);
    _exit(70);
  }
}

}  // namespace

void* adopt(std::unique_ptr<Body> body, bool immortal) {
  Nodes& n = nodes();
  const std::lock_guard lock(n.mutex);
  Node* node = take_node(n);
  node->immortal = immortal;
  node->without_pool = false;
  node->count = 1;
  node->uses = 0;
  node->serial = ++n.serial;
  node->type = body->type();
  node->label.clear();
  body->node = node;
  node->body = std::move(body);
  node->state = NodeState::live;
  return node;
}

Body* find_body(const void* object, std::string_view call, std::string_view role) {
  Node* node = find_node(object, call, role);
  return node == nullptr ? nullptr : node->body.get();
}

void fault_class(const Body& body, std::string_view call, std::string_view role, const char* wanted) {
  fault(FaultKind::wrong_class, call, std::string(role) + " is no " + wanted, "it is " + object_text(body), "");
}

void hold(Node* node) {
  if (node == nullptr) return;
  const std::lock_guard lock(nodes().mutex);
  ++node->uses;
}

void drop(Node* node) {
  if (node == nullptr) return;
  std::unique_ptr<Body> gone;
  {
    Nodes& n = nodes();
    const std::lock_guard lock(n.mutex);
    --node->uses;
    gone = bury(n, node);
  }
}

void flight_begins() {
  const std::lock_guard lock(nodes().mutex);
  ++nodes().in_flight;
}

void flight_ends() {
  Nodes& n = nodes();
  {
    const std::lock_guard lock(n.mutex);
    --n.in_flight;
  }
  n.landed.notify_all();
}

bool retain_counted(Node* node) {
  const std::lock_guard lock(nodes().mutex);
  if (node->state != NodeState::live || node->count <= 0) return false;
  ++node->count;
  return true;
}

void lend(Node* node) {
  const std::lock_guard lock(nodes().mutex);
  ++node->count;
}

void unlend(Node* node) {
  std::unique_ptr<Body> gone;
  {
    Nodes& n = nodes();
    const std::lock_guard lock(n.mutex);
    --node->count;
    gone = bury(n, node);
  }
}

void retain(const void* object) {
  if (object == nullptr) return;
  Node* node = find_node(object, "retain", "receiver");
  if (node == nullptr) return;
  const std::lock_guard lock(nodes().mutex);
  ++node->count;
}

void release(const void* object) {
  if (object == nullptr) return;
  Nodes& n = nodes();
  std::string dead;
  std::unique_ptr<Body> gone;
  Body* given_up = nullptr;
  Node* held = nullptr;
  {
    const std::lock_guard lock(n.mutex);
    auto* node = static_cast<Node*>(const_cast<void*>(object));
    const bool known = n.known.count(object) != 0;
    if (known && node->immortal) return;
    if (!known) {
      dead = "it is no object of softmetal";
    } else if (node->state != NodeState::live || node->count <= 0) {
      dead = describe(node->type, node->label) + ", object " + std::to_string(node->serial);
    } else if (--node->count == 0) {
      node->label = node->body->label_text();
      ++node->uses;  // until given_up has run
      held = node;
      given_up = node->body.get();
    }
  }
  if (given_up != nullptr) {
    given_up->given_up();
    drop(held);
  }
  if (!dead.empty()) {
    fault(FaultKind::over_release, "release", "an object without counts is released", dead,
          "release what new..., alloc, copy and retain gave, once each");
  }
}

NS::UInteger retain_count(const void* object) {
  Node* node = find_node(object, "retainCount", "receiver");
  if (node == nullptr) return 0;
  const std::lock_guard lock(nodes().mutex);
  return static_cast<NS::UInteger>(node->count);
}

std::string object_text(const Body& body) {
  return describe(body.type(), body.label_text());
}

// Pools ---------------------------------------------------------------------------------------------------------------

namespace {

// What was autoreleased on a thread, innermost pool last. The first stands for no pool at all.
struct ThreadPools {
  std::vector<std::vector<const void*>> stack{1};

  ~ThreadPools() {
    while (stack.size() > 1) end();
    if (getpid() == gettid()) return;  // of the main thread: leaked, and reported
    end();
  }
  void end() {
    const std::vector<const void*> objects = std::move(stack.back());
    stack.pop_back();
    for (const void* object : objects) release(object);
  }
};
thread_local ThreadPools t_pools;

}  // namespace

void push_pool() {
  t_pools.stack.emplace_back();
}
void pop_pool() {
  if (t_pools.stack.size() > 1) t_pools.end();
}

void autorelease(const void* object) {
  if (object == nullptr) return;
  Node* node = find_node(object, "autorelease", "receiver");
  if (node == nullptr) return;
  t_pools.stack.back().push_back(object);
  if (t_pools.stack.size() == 1) node->without_pool = true;
}

size_t pool_depth() {
  return t_pools.stack.size();
}

void drain_to(size_t depth) {
  while (t_pools.stack.size() > depth && t_pools.stack.size() > 1) t_pools.end();
}

}  // namespace softmetal::detail

namespace softmetal {

std::vector<LiveObject> live_objects() {
  std::vector<LiveObject> alive;
  detail::Nodes& n = detail::nodes();
  const std::lock_guard lock(n.mutex);
  for (const detail::Node& node : n.all) {
    if (node.state != detail::NodeState::live || node.immortal) continue;
    alive.push_back({node.type, node.body->label_text(), node.count, node.serial, node.without_pool});
  }
  std::sort(alive.begin(), alive.end(), [](const LiveObject& a, const LiveObject& b) { return a.serial < b.serial; });
  return alive;
}

}  // namespace softmetal
