#include "fault.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace softmetal {
namespace {

struct Handlers {
  std::mutex mutex;
  FaultHandler handler;
};
Handlers& handlers() {
  static Handlers* all = new Handlers;  // outlives every object
  return *all;
}

}  // namespace

std::string_view fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::nil_object: return "nil object";
    case FaultKind::use_after_release: return "use after release";
    case FaultKind::over_release: return "released too often";
    case FaultKind::wrong_class: return "wrong class";
    case FaultKind::foreign_device: return "foreign device";
    case FaultKind::storage_mode: return "storage mode";
    case FaultKind::bad_range: return "bad range";
    case FaultKind::missing_binding: return "missing binding";
    case FaultKind::encoder_state: return "encoder state";
    case FaultKind::command_buffer: return "command buffer state";
    case FaultKind::launch_limits: return "launch limits";
    case FaultKind::unsupported: return "unsupported";
    case FaultKind::in_flight: return "in flight";
    case FaultKind::hazard: return "hazard";
    case FaultKind::unread_error: return "unread error";
    case FaultKind::leak: return "leak";
  }
  return "fault";
}

std::string Fault::text() const {
  std::string text = "softmetal fault[" + std::string(fault_name(kind)) + "] " + what;
  if (!why.empty()) text += "\n  why   " + why;
  if (!mend.empty()) text += "\n  mend  " + mend;
  return text;
}

FaultHandler set_fault_handler(FaultHandler handler) {
  const std::lock_guard lock(handlers().mutex);
  return std::exchange(handlers().handler, std::move(handler));
}

struct FaultCollector::Shared {
  mutable std::mutex mutex;
  std::vector<Fault> faults;
};

FaultCollector::FaultCollector() : shared_(std::make_shared<Shared>()) {
  before_ = set_fault_handler([shared = shared_](const Fault& fault) {
    const std::lock_guard lock(shared->mutex);
    shared->faults.push_back(fault);
  });
}
FaultCollector::~FaultCollector() {
  set_fault_handler(std::move(before_));
}
std::vector<Fault> FaultCollector::faults() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->faults;
}
std::vector<Fault> FaultCollector::take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->faults, {});
}
int FaultCollector::count(FaultKind kind) const {
  const std::lock_guard lock(shared_->mutex);
  int n = 0;
  for (const Fault& fault : shared_->faults) n += fault.kind == kind ? 1 : 0;
  return n;
}

namespace detail {

void fault(FaultKind kind, std::string_view call, std::string what, std::string why, std::string mend) {
  const Fault found{kind, std::string(call) + ": " + std::move(what), std::move(why), std::move(mend)};
  FaultHandler handler;
  {
    const std::lock_guard lock(handlers().mutex);
    handler = handlers().handler;
  }
  if (handler) {
    handler(found);
    return;
  }
  std::fprintf(stderr, "%s\n", found.text().c_str());
  std::abort();
}

}  // namespace detail
}  // namespace softmetal
