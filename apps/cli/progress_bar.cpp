#include "progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace chiaro::cli {
namespace {

constexpr double kQuietSeconds = 1;       // a run that is over sooner shows no progress
constexpr double kLineEverySeconds = 30;  // not a terminal: at least this often while steps end

}  // namespace

std::string rate_text(int steps, double seconds) {
  if (steps < 1 || seconds <= 0) return {};
  const double rate = steps / seconds;
  return rate >= 1 ? fmt::format("{:.2f} it/s", rate) : fmt::format("{:.2f} s/it", 1 / rate);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string bar_text(int done, int all, int width) {
  const int full = all > 0 ? static_cast<int>(int64_t{width} * std::clamp(done, 0, all) / all) : 0;
  return "[" + std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(width - full), '.') + "]";
}

double ProgressBar::seconds_left(const Progress& p) const {
  if (p.stage != Stage::sample || p.step < 1) return -1;
  const int later = std::max(0, p.pictures - p.picture - batch_size_);
  const int groups = (later + batch_size_ - 1) / batch_size_;
  return p.seconds / p.step * (p.steps - p.step + static_cast<double>(groups) * p.steps);
}

std::string ProgressBar::describe(const Progress& p) const {
  std::string text;
  if (p.cache_bytes > 0) {
    const auto percent =
        static_cast<int>(100.0 * static_cast<double>(p.cache_written) / static_cast<double>(p.cache_bytes));
    if (console_.terminal()) text += bar_text(percent, 100, 24) + " ";
    return text + fmt::format("{}: writing the weight cache, {} %", stage_name(p.stage), percent);
  }
  if (console_.terminal()) text += bar_text(p.step, p.steps, 24) + " ";
  text += fmt::format("{} {}/{}", stage_name(p.stage), p.step, p.steps);
  if (p.pictures > 1) text += fmt::format(", picture {}/{}", p.picture + 1, p.pictures);
  if (const std::string rate = rate_text(p.step, p.seconds); p.stage == Stage::sample && !rate.empty()) {
    text += ", " + rate;
  }
  if (const double left = seconds_left(p); left >= 0) text += ", " + duration_text(left) + " left";
  return text;
}

bool ProgressBar::due(const Progress& p) {
  const auto now = Clock::now();
  if (std::chrono::duration<double>(now - start_).count() < kQuietSeconds) return false;
  if (console_.terminal()) return true;
  const int every = std::max(1, (p.steps + 4) / 5);
  const bool late = !any_line_ || std::chrono::duration<double>(now - last_line_).count() > kLineEverySeconds;
  const bool cache = p.cache_bytes > 0, tile = p.stage == Stage::decode && p.step > 0 && p.step < p.steps;
  if (cache || tile) {  // told of now and then; so are many tiles
    if (!late) return false;
  } else if (p.stage != Stage::sample || p.step == 0 || (p.step % every != 0 && p.step != p.steps && !late)) {
    return false;
  }
  last_line_ = now;
  any_line_ = true;
  return true;
}

void ProgressBar::update(const Progress& progress) {
  if (!due(progress)) return;
  if (console_.terminal()) {
    console_.bar(describe(progress));
  } else {
    console_.line(describe(progress));
  }
}

}  // namespace chiaro::cli
