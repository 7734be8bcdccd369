// A profile as a Chrome trace (chrome://tracing, ui.perfetto.dev): one event for every kernel launch.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "chiaro/chiaro.h"

namespace chiaro::cli {

// Source of the format: "Trace Event Format" (Google), complete events ("ph":"X"), microseconds.
// Thread rule: the thread that calls generate().
class Trace {
 public:
  void add(const OpTime& op);
  // Errors: io.
  Status save(const std::filesystem::path& path) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Event {
    std::string stage, op, label, kernel;
    double start = 0, seconds = 0;
  };
  Clock::time_point begin_ = Clock::now();
  std::vector<Event> events_;
};

}  // namespace chiaro::cli
