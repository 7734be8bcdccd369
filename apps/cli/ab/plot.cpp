// A comparison as an SVG picture: every run of every variant on one axis; below, the ratio of every pair with the
// interval, against the line at 1.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ab/report.h"

namespace chiaro::ab {
namespace {

constexpr double kWidth = 760, kLeft = 90, kRight = 30, kRow = 44;
constexpr const char* kColours[] = {"#3b6ea8", "#c2571a", "#7a7a7a"};  // A, B, A again
constexpr size_t kMostTitle = 100;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

// At most `most` characters; a letter of several bytes is not cut.
std::string shortened(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

// Where values lie on the page: a linear axis with ticks at 1, 2 or 5 times a power of ten.
class Axis {
 public:
  Axis(double least, double most) {
    const double margin = most > least ? (most - least) * 0.08 : std::max(std::abs(most) * 0.05, 1e-9);
    low_ = least - margin;
    high_ = most + margin;
    const double rough = (high_ - low_) / 5, power = std::pow(10, std::floor(std::log10(rough)));
    const double part = rough / power;
    step_ = power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
  }
  double x(double value) const { return kLeft + (value - low_) / (high_ - low_) * (kWidth - kLeft - kRight); }
  std::vector<double> ticks() const {
    std::vector<double> ticks;
    for (double k = std::ceil(low_ / step_); k * step_ <= high_; ++k) ticks.push_back(k * step_);
    return ticks;
  }
  // Digits after the point that tell ticks apart.
  int digits() const { return std::max(0, static_cast<int>(-std::floor(std::log10(step_) + 1e-9))); }

 private:
  double low_ = 0, high_ = 1, step_ = 1;
};

class Page {
 public:
  void text(double x, double y, const std::string& words, const char* more = "") {
    body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, escaped(words));
  }
  void line(double x1, double y1, double x2, double y2, const char* colour, double width, const char* more = "") {
    body_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{}\" {}/>\n", x1,
        y1, x2, y2, colour, width, more);
  }
  void dot(double x, double y, const char* colour, const std::string& title) {
    body_ += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.75\"><title>{}</title></circle>\n", x,
        y, colour, escaped(title));
  }
  void box(double x, double y, double w, double h, const char* colour, double opacity) {
    body_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" fill-opacity=\"{}\"/>\n", x, y,
        w, h, colour, opacity);
  }
  void axis(const Axis& axis, double top, double bottom, const std::string& unit) {
    for (const double tick : axis.ticks()) {
      line(axis.x(tick), top, axis.x(tick), bottom, "#dddddd", 1);
      text(axis.x(tick), bottom + 15, fmt::format("{:.{}f}", tick, axis.digits()),
           "text-anchor=\"middle\" fill=\"#555555\"");
    }
    text(kWidth - kRight, bottom + 31, unit, "text-anchor=\"end\" fill=\"#555555\"");
  }
  std::string svg(double height) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{2}</svg>\n",
        kWidth, height, body_);
  }

 private:
  std::string body_;
};

// A value's row: the range as a line, the median as a bar, every run as a dot, earlier ones higher.
void draw_values(Page& page, const Report& report, const Axis& axis, int variant, double top, double scale) {
  const std::vector<double> values = compared(report, variant);
  const Summary summary = summarise(values);
  const char* colour = kColours[variant];
  const double middle = top + kRow / 2;
  page.text(kLeft - 12, middle + 4, std::string(variant_name(variant)), "text-anchor=\"end\"");
  page.line(axis.x(summary.least * scale), middle, axis.x(summary.greatest * scale), middle, colour, 1.5);
  page.line(axis.x(summary.median * scale), middle - 15, axis.x(summary.median * scale), middle + 15, colour, 3);
  const double count = static_cast<double>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double part = count > 1 ? static_cast<double>(i) / (count - 1) - 0.5 : 0;
    page.dot(axis.x(values[i] * scale), middle + part * 22, colour,
             fmt::format("repeat {}: {}", i + 1, value_text(report, values[i])));
  }
}

struct RatioRow {
  int variant;
  Ratio ratio;
  std::vector<double> pairs;
};

std::vector<RatioRow> ratio_rows(const Report& report) {
  std::vector<RatioRow> rows;
  const std::vector<double> a = compared(report, kA);
  const auto add = [&](int variant, const std::optional<Ratio>& ratio) {
    if (!ratio) return;
    std::vector<double> pairs = compared(report, variant);
    for (size_t i = 0; i < pairs.size(); ++i) pairs[i] /= a[i];
    rows.push_back({variant, *ratio, std::move(pairs)});
  };
  add(kB, report.b);
  add(kAgain, report.again);
  return rows;
}

void draw_ratio(Page& page, const Axis& axis, const RatioRow& row, double top) {
  const char* colour = kColours[row.variant];
  const double middle = top + kRow / 2;
  page.text(kLeft - 12, middle + 4, std::string(variant_name(row.variant)) + " / A", "text-anchor=\"end\"");
  page.box(axis.x(row.ratio.low), middle - 9, axis.x(row.ratio.high) - axis.x(row.ratio.low), 18, colour, 0.25);
  page.line(axis.x(row.ratio.ratio), middle - 13, axis.x(row.ratio.ratio), middle + 13, colour, 3);
  for (size_t i = 0; i < row.pairs.size(); ++i) {
    page.dot(axis.x(row.pairs[i]), middle, colour, fmt::format("pair {}: {:.4f}", i + 1, row.pairs[i]));
  }
}

double draw_value_panel(Page& page, const Report& report, double top) {
  double least = HUGE_VAL, most = 0;
  std::vector<int> variants;
  for (const int variant : {kA, kB, kAgain}) {
    const std::vector<double> values = compared(report, variant);
    if (values.empty()) continue;
    variants.push_back(variant);
    const Summary summary = summarise(values);
    least = std::min(least, summary.least);
    most = std::max(most, summary.greatest);
  }
  const bool figure = report.clock == Clock::figure, milli = !figure && most < 1;
  const double scale = milli ? 1e3 : 1;
  const Axis axis(least * scale, most * scale);
  const double bottom = top + kRow * static_cast<double>(variants.size());
  page.axis(axis, top, bottom,
            figure ? "figure" : std::string(report.clock == Clock::cpu ? "processor " : "") + (milli ? "ms" : "s"));
  for (size_t i = 0; i < variants.size(); ++i) {
    draw_values(page, report, axis, variants[i], top + kRow * static_cast<double>(i), scale);
  }
  return bottom;
}

double draw_ratio_panel(Page& page, const Report& report, double top) {
  const std::vector<RatioRow> rows = ratio_rows(report);
  double least = 1, most = 1;
  for (const RatioRow& row : rows) {
    const Summary pairs = summarise(row.pairs);
    // An interval without bounds worth drawing must not squeeze the pairs into a line.
    constexpr double kFar = 4;
    least = std::min({least, pairs.least, std::max(row.ratio.low, row.ratio.ratio / kFar)});
    most = std::max({most, pairs.greatest, std::min(row.ratio.high, row.ratio.ratio * kFar)});
  }
  const Axis axis(least, most);
  const double bottom = top + kRow * static_cast<double>(rows.size());
  page.axis(axis, top, bottom, "times A; the box is the 95 % interval");
  page.line(axis.x(1), top, axis.x(1), bottom, "#222222", 1.5, "stroke-dasharray=\"4 3\"");
  for (size_t i = 0; i < rows.size(); ++i) {
    RatioRow row = rows[i];
    row.ratio.low = std::max(row.ratio.low, least);
    row.ratio.high = std::min(row.ratio.high, most);
    draw_ratio(page, axis, row, top + kRow * static_cast<double>(i));
  }
  return bottom;
}

}  // namespace

std::string to_svg(const Report& report) {
  Page page;
  double y = 24;
  for (const int variant : {kA, kB}) {
    if (variant == kB && !report.options.with_b) continue;
    const std::string& command = report.options.commands[static_cast<size_t>(variant)].text;
    page.text(20, y, fmt::format("{}: {}", variant_name(variant), shortened(command, kMostTitle)),
              fmt::format("fill=\"{}\"", kColours[variant]).c_str());
    y += 18;
  }
  const double values_end = draw_value_panel(page, report, y + 4);
  const double end = draw_ratio_panel(page, report, values_end + 56);
  return page.svg(end + 44);
}

}  // namespace chiaro::ab
