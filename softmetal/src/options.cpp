#include "options.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

namespace softmetal {
namespace detail {
namespace {

constexpr size_t kCallKinds = kCalls;
constexpr size_t index_of(Call call) {
  return static_cast<size_t>(call);
}

// What is to fail: by the number of the call, counted from the start of the process.
struct Failures {
  std::mutex mutex;
  std::array<int64_t, kCallKinds> made{}, counted{};  // made: ever; counted: since the last reset
  int64_t any_made = 0, any_counted = 0;
  std::array<std::map<int64_t, MTL::CommandBufferError>, kCallKinds> planned;
  std::map<int64_t, MTL::CommandBufferError> any_planned;
};

struct Named {
  const char* name;
  MTL::CommandBufferError code;
};
constexpr Named kCodes[] = {
    {"internal", MTL::CommandBufferErrorInternal},
    {"timeout", MTL::CommandBufferErrorTimeout},
    {"page_fault", MTL::CommandBufferErrorPageFault},
    {"access_revoked", MTL::CommandBufferErrorAccessRevoked},
    {"not_permitted", MTL::CommandBufferErrorNotPermitted},
    {"out_of_memory", MTL::CommandBufferErrorOutOfMemory},
    {"invalid_resource", MTL::CommandBufferErrorInvalidResource},
    {"device_removed", MTL::CommandBufferErrorDeviceRemoved},
    {"stack_overflow", MTL::CommandBufferErrorStackOverflow},
};

[[noreturn]] void refuse(const char* variable, const std::string& text, const char* wanted) {
  std::fprintf(stderr, "softmetal: %s=%s is not understood: %s\n", variable, text.c_str(), wanted);
  std::exit(2);
}

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

double number(const char* name, double otherwise, double least) {
  const std::string text = variable(name);
  if (text.empty()) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == nullptr || *end != '\0' || !(value >= least) || value > 1e9) refuse(name, text, "a number");
  return value;
}

Checks read_checks() {
  const std::string text = variable("SOFTMETAL_CHECKS");
  if (text.empty() || text == "on") return {};
  Checks checks{false, false, false};
  if (text == "off") return checks;
  for (const std::string& part : split(text)) {
    if (part == "kernels") {
      checks.kernels = true;
    } else if (part == "hazards") {
      checks.hazards = true;
    } else if (part == "cpu_writes") {
      checks.cpu_writes = true;
    } else {
      refuse("SOFTMETAL_CHECKS", text, "on, off, or of kernels,hazards,cpu_writes");
    }
  }
  return checks;
}

// call:nth or commit:nth=code, with commas between.
void read_failures(Failures& failures) {
  const std::string text = variable("SOFTMETAL_FAIL");
  for (const std::string& part : split(text)) {
    const size_t colon = part.find(':'), equals = part.find('=');
    const std::string name = part.substr(0, colon);
    const int nth = colon == std::string::npos ? 1 : std::atoi(part.c_str() + colon + 1);
    MTL::CommandBufferError code = MTL::CommandBufferErrorInternal;
    bool known = equals == std::string::npos;
    for (const Named& one : kCodes) {
      if (!known && part.substr(equals + 1) == one.name) {
        code = one.code;
        known = true;
      }
    }
    bool placed = false;
    for (size_t i = 0; i < kCallKinds && known && nth > 0; ++i) {
      if (call_name(static_cast<Call>(i)) != name) continue;
      failures.planned[i][nth] = code;
      placed = true;
    }
    if (name == "any" && known && nth > 0) {
      failures.any_planned[nth] = code;
      placed = true;
    }
    if (!placed) refuse("SOFTMETAL_FAIL", text, "CALL:NTH, or commit:NTH=ERROR, with commas between");
  }
}

Failures& failures() {
  static Failures* all = [] {
    auto* made = new Failures;
    read_failures(*made);
    return made;
  }();
  return *all;
}

// With the lock held.
std::optional<MTL::CommandBufferError> count(Failures& f, Call call) {
  const size_t i = index_of(call);
  ++f.counted[i];
  const int64_t nth = ++f.made[i];
  std::optional<MTL::CommandBufferError> code;
  const auto take = [&code](std::map<int64_t, MTL::CommandBufferError>& planned, int64_t at) {
    const auto found = planned.find(at);
    if (found == planned.end()) return;
    code = found->second;
    planned.erase(found);
  };
  take(f.planned[i], nth);
  ++f.any_counted;
  take(f.any_planned, ++f.any_made);
  return code;
}

}  // namespace

const Environment& environment() {
  static const Environment* all = [] {
    auto* e = new Environment;
    e->profile = variable("SOFTMETAL_PROFILE");
    const std::string devices = variable("SOFTMETAL_DEVICES");
    e->has_devices = !devices.empty();
    if (devices != "none") e->devices = split(devices);
    e->checks = read_checks();
    e->threads = static_cast<int>(number("SOFTMETAL_THREADS", 0, 0));
    e->unadvertised = number("SOFTMETAL_UNADVERTISED", 0, 0) != 0;
    e->timeout = number("SOFTMETAL_TIMEOUT", 60, 0.001);
    const std::string leaks = variable("SOFTMETAL_LEAKS");
    if (leaks == "off") {
      e->leaks = LeakReport::off;
    } else if (leaks == "fatal") {
      e->leaks = LeakReport::fatal;
    } else if (!leaks.empty() && leaks != "report") {
      refuse("SOFTMETAL_LEAKS", leaks, "report, fatal or off");
    }
    return e;
  }();
  return *all;
}

bool fails(Call call) {
  Failures& f = failures();
  const std::lock_guard lock(f.mutex);
  return count(f, call).has_value();
}

std::optional<MTL::CommandBufferError> commit_fails() {
  Failures& f = failures();
  const std::lock_guard lock(f.mutex);
  return count(f, Call::commit);
}

}  // namespace detail

std::string_view call_name(Call call) {
  switch (call) {
    case Call::create_device: return "create_device";
    case Call::new_command_queue: return "new_command_queue";
    case Call::new_buffer: return "new_buffer";
    case Call::new_library: return "new_library";
    case Call::new_function: return "new_function";
    case Call::new_pipeline: return "new_pipeline";
    case Call::new_event: return "new_event";
    case Call::new_residency_set: return "new_residency_set";
    case Call::command_buffer: return "command_buffer";
    case Call::encoder: return "encoder";
    case Call::commit: return "commit";
    case Call::device_lost: return "device_lost";
  }
  return "";
}

void fail(Call call, int nth, int times) {
  detail::Failures& f = detail::failures();
  const std::lock_guard lock(f.mutex);
  const size_t i = detail::index_of(call);
  for (int k = 0; k < times; ++k) f.planned[i][f.made[i] + nth + k] = MTL::CommandBufferErrorInternal;
}

void fail_commit(int nth, MTL::CommandBufferError code) {
  detail::Failures& f = detail::failures();
  const std::lock_guard lock(f.mutex);
  const size_t i = detail::index_of(Call::commit);
  f.planned[i][f.made[i] + nth] = code;
}

void fail_any(int nth, MTL::CommandBufferError code) {
  detail::Failures& f = detail::failures();
  const std::lock_guard lock(f.mutex);
  f.any_planned[f.any_made + nth] = code;
}

void reset_failures() {
  detail::Failures& f = detail::failures();
  const std::lock_guard lock(f.mutex);
  for (auto& planned : f.planned) planned.clear();
  f.any_planned.clear();
}

int64_t calls(Call call) {
  detail::Failures& f = detail::failures();
  const std::lock_guard lock(f.mutex);
  return f.counted[detail::index_of(call)];
}

int64_t calls_of_any_kind() {
  detail::Failures& f = detail::failures();
  const std::lock_guard lock(f.mutex);
  return f.any_counted;
}

void reset_call_counts() {
  detail::Failures& f = detail::failures();
  const std::lock_guard lock(f.mutex);
  f.counted = {};
  f.any_counted = 0;
}

}  // namespace softmetal
