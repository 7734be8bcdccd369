// A fresh process, timed, with the memory it took.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "chiaro/error.h"

namespace chiaro::ab {

struct ChildRequest {
  std::vector<std::string> words;  // the program, looked for in PATH, and its arguments
  std::filesystem::path out, err;  // where its output goes; its input is empty
  double timeout = 0;              // seconds; 0: none
  const std::atomic<bool>* cancel = nullptr;
  std::atomic<int>* group = nullptr;  // holds its process group while it runs, 0 otherwise
  std::function<void(double)> tick;   // seconds so far, several times a second; may be empty
};

struct ChildResult {
  int code = 0;    // exit code, where signal is 0
  int signal = 0;  // that ended it
  bool timed_out = false, cancelled = false;
  double seconds = 0;      // from before its start to its end
  double cpu_seconds = 0;  // user and system, of it and the processes it waited for
  int64_t peak_bytes = 0;  // the most memory it (or one of them) held at once
  bool good() const { return code == 0 && signal == 0 && !timed_out && !cancelled; }
};

// Runs it in a process group of its own, so that it and all it started are ended together: at the time-out, where
// `cancel` is set (politely, after two seconds by force), and, for what is left, when it has ended.
// Errors: usage where it cannot be started (not found, not a program). Thread rule: one at a time in a process.
Result<ChildResult> run_child(const ChildRequest& request);

}  // namespace chiaro::ab
