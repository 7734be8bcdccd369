// How far a run is: one redrawn line on a terminal, a line now and then elsewhere. Nothing in the first second.
#pragma once

#include <chrono>
#include <string>

#include "chiaro/chiaro.h"
#include "console.h"

namespace chiaro::cli {

// "1.25 it/s", or "3.10 s/it" where a step takes longer than a second; empty where nothing was done yet.
std::string rate_text(int steps, double seconds);
// "45 s", "3:05", "1:02:03"
std::string duration_text(double seconds);
// "[####....]"
std::string bar_text(int done, int all, int width);

// Thread rule: the thread that calls generate().
class ProgressBar {
 public:
  ProgressBar(Console& console, int batch_size) : console_(console), batch_size_(batch_size) {}
  void update(const Progress& progress);

 private:
  std::string describe(const Progress& progress) const;
  bool due(const Progress& progress);
  double seconds_left(const Progress& progress) const;

  using Clock = std::chrono::steady_clock;
  Console& console_;
  int batch_size_;
  Clock::time_point start_ = Clock::now(), last_line_ = start_;
  bool any_line_ = false;
};

}  // namespace chiaro::cli
