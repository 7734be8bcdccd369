// A profile as a Chrome trace (chrome://tracing, ui.perfetto.dev): a row per device queue, an event per kernel or copy.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/executor.h"

namespace chiaro {

// Usage: options.on_step = [&](const StepTime& t) { profile.add(t, "decode"); }, for as many runs and executors as are
// to be in one picture; then save. Thread rule: one thread at a time.
class Profile {
 public:
  // `category` is the stage, for colours and filters; may be empty.
  void add(const StepTime& step, std::string_view category);
  // Source of the format: "Trace Event Format" (Google): complete events ("ph":"X") and thread names ("ph":"M"), times
  // in microseconds from the first event. Bytes that are not UTF-8 are replaced.
  std::string json() const;
  // Errors: io.
  Status save(const std::filesystem::path& path) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Event {
    std::string name, label, kernel, category;
    size_t row = 0;
    Clock::time_point start;
    double seconds = 0;
    int64_t bytes = 0;
  };
  std::vector<std::string> rows_;  // devices, in the order they are met
  std::vector<Event> events_;
};

}  // namespace chiaro
