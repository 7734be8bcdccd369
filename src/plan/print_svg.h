// What the pieces of a plan's picture share. One coordinate system in pixels; nothing is scripted, titles are the
// browser's tooltips.
#pragma once

#include <array>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "plan/print.h"

namespace chiaro::svg {

inline constexpr double kWidth = 1280, kPlotX = 96, kPlotW = 1148;
inline constexpr std::string_view kCopyColour = "#6a1b9a", kBackColour = "#ef6c00", kMovedColour = "#c62828";
inline constexpr std::string_view kPeakColour = "#c2185b", kBoundColour = "#00796b";

struct Family {
  std::string_view name, colour;
  std::array<std::string_view, 12> ops;
};
std::span<const Family> families();
const Family& family_of(std::string_view op);

std::string escaped(std::string_view text);
// A round distance between marks: at least `least`, a round factor times a power of `base` (10 or 1024).
double round_step(double least, double base);

class Drawing {
 public:
  template <class... A>
  void add(fmt::format_string<A...> text, A&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<A>(args)...);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// The arena of one device over the plan's steps.
class Lane {
 public:
  // `y` and `height` of the plot; its title stands above it.
  Lane(const ExecutionPlan& plan, std::span<const StorageLife> lives, int32_t device, double y, double height);
  void draw(Drawing& to) const;
  double x(double step) const { return kPlotX + kPlotW * step / steps_; }
  double y(double offset) const { return y_ + height_ * (1 - offset / bytes_); }
  double top() const { return y_; }
  double bottom() const { return y_ + height_; }

 private:
  void title(Drawing& to) const;
  void axes(Drawing& to) const;
  void segments(Drawing& to) const;
  void scratch(Drawing& to, size_t step) const;
  void storage(Drawing& to, const StorageLife& life) const;
  void storage_words(Drawing& to, const StorageLife& life, double left, double right, double top, double tall) const;
  std::string brought(const StorageLife& life) const;
  std::string staged_names() const;
  void live_bytes(Drawing& to) const;
  void lines(Drawing& to) const;
  void moved(Drawing& to) const;
  std::string_view op_at(int32_t step) const;

  const ExecutionPlan& plan_;
  std::vector<StorageLife> lives_;  // of this device
  int32_t device_;
  double y_, height_, steps_, bytes_;
};

}  // namespace chiaro::svg
