#include "ab/report.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>

namespace chiaro::ab {
namespace {

namespace fs = std::filesystem;

std::string percent(double part) {
  const double value = std::abs(part) * 100;
  return fmt::format("{:.{}f} %", value, value < 10 ? 2 : 1);
}

std::string interval(const Ratio& ratio) {
  return fmt::format("95 % interval {:.3f} to {:.3f}, {} pairs", ratio.low, ratio.high, ratio.pairs);
}

std::string what_is_compared(Clock clock) {
  return clock == Clock::wall ? "time" : clock == Clock::cpu ? "processor time" : "figure";
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

double load_now() {
  double loads[1] = {-1};
  return ::getloadavg(loads, 1) == 1 ? loads[0] : -1;
}

Machine this_machine() {
  Machine machine;
  utsname name{};
  if (::uname(&name) == 0) machine.system = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32] = {};
  if (std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &utc) > 0) machine.date = text;
  machine.cores = static_cast<int>(std::thread::hardware_concurrency());
  machine.load_before = load_now();
  return machine;
}

Outputs compare_outputs(const fs::path& a, const fs::path& b) {
  Outputs outputs;
  const std::string bytes = bytes_of(a);
  outputs.identical = !bytes.empty() && bytes == bytes_of(b);
  if (outputs.identical) return outputs;
  const auto one = load_image(a), other = load_image(b);
  if (!one.ok() || !other.ok()) {
    outputs.trouble = "they differ, and " + (one.ok() ? other : one).error().what;
    return outputs;
  }
  const auto difference = compare_images(*one, *other);
  if (difference.ok()) {
    outputs.difference = *difference;
  } else {
    outputs.trouble = difference.error().what;
  }
  return outputs;
}

std::string Outputs::text() const {
  if (identical) return "the same bytes";
  if (!difference) return "cannot be compared: " + trouble;
  if (difference->pixels == 0) return "the same pixels";
  return fmt::format("PSNR {:.2f} dB, SSIM {:.4f}, largest difference {}, {} pixels differ", difference->psnr,
                     difference->ssim, difference->largest, difference->pixels);
}

std::vector<double> compared(const Report& report, int variant) {
  switch (report.clock) {
    case Clock::wall: return report.measured.values(variant, &Run::seconds);
    case Clock::cpu: return report.measured.values(variant, &Run::cpu_seconds);
    case Clock::figure: return report.measured.values(variant, &Run::figure);
  }
  return {};
}

void evaluate(Report& report) {
  const auto ratio_to_a = [&](int variant) {
    return paired_ratio(compared(report, kA), compared(report, variant), report.seed);
  };
  if (report.options.with_b) report.b = ratio_to_a(kB);
  if (report.options.with_again) report.again = ratio_to_a(kAgain);
  const auto& pictures = report.measured.pictures;
  const fs::path& other = pictures[report.options.with_b ? kB : kAgain].path;
  if (!pictures[kA].path.empty() && !other.empty()) report.outputs = compare_outputs(pictures[kA].path, other);
}

std::string value_text(const Report& report, double value) {
  constexpr double kMilli = 1e3;
  if (report.clock == Clock::figure) return fmt::format("{:.4g}", value);
  if (value < 1) return fmt::format("{:.{}f} ms", value * kMilli, value < 0.01 ? 2 : 1);
  return fmt::format("{:.{}f} s", value, value < 100 ? 3 : 1);
}

std::string verdict(const Report& report) {
  if (!report.b) return noise_sentence(report);
  const Ratio& b = *report.b;
  const std::string found =
      fmt::format("B takes {:.3f} of A's {} ({})", b.ratio, what_is_compared(report.clock), interval(b));
  if (!b.tells()) {
    return found + fmt::format(
                       ": the difference lies inside its own spread; a difference of less than {} cannot be "
                       "told by these runs.",
                       percent(b.floor()));
  }
  if (report.again && std::abs(std::log(b.ratio)) <= std::log1p(report.again->floor())) {
    return found +
           fmt::format(": no more than A against itself, whose interval reaches {}; it cannot be told from noise.",
                       percent(report.again->floor()));
  }
  return found +
         fmt::format(": B is {} {}.", b.ratio < 1 ? "faster, less by" : "slower, more by", percent(b.ratio - 1));
}

std::string noise_sentence(const Report& report) {
  if (!report.again) return "";
  const Ratio& again = *report.again;
  const std::string found = fmt::format("A against A: {:.3f} ({}); the noise floor is {}", again.ratio, interval(again),
                                        percent(again.floor()));
  if (!again.tells()) return found + ".";
  return found +
         ". The interval of A against itself leaves out 1: something changes from run to run, so trust no "
         "small difference here.";
}

std::string outputs_sentence(const Report& report) {
  const auto& pictures = report.measured.pictures;
  std::string text;
  if (report.outputs) {
    text = fmt::format("Outputs of A and {}: {}.", report.options.with_b ? "B" : "A again", report.outputs->text());
  }
  std::string unsteady;
  bool any = false;
  for (const int variant : {kA, kB, kAgain}) {
    const Picture& picture = pictures[static_cast<size_t>(variant)];
    any = any || !picture.path.empty();
    if (picture.steady) continue;
    unsteady += (unsteady.empty() ? "" : " and ") + std::string(variant_name(variant));
  }
  if (!any) return text;
  if (!text.empty()) text += " ";
  text += unsteady.empty() ? "Each wrote the same bytes every time."
                           : unsteady + " did NOT write the same bytes every time.";
  return text;
}

}  // namespace chiaro::ab
