// What a comparison found, and how it is told: for the terminal, as Markdown, as JSON, as a picture.
#pragma once

#include <optional>
#include <string>

#include "ab/measure.h"
#include "ab/statistics.h"
#include "pipeline/image/compare.h"

namespace chiaro::ab {

enum class Clock { wall, cpu, figure };  // what is compared

struct Machine {
  std::string system, date;  // "Linux 6.1 x86_64", "2026-11-30 09:00 UTC"
  int cores = 0;
  double load_before = -1, load_after = -1;  // of one minute; below 0: unknown
};
// Reads the system, the date, the cores and the load as load_before. No name of host or user.
Machine this_machine();
double load_now();  // below 0: unknown

// Two outputs, byte by byte and as pictures.
struct Outputs {
  bool identical = false;
  std::optional<ImageDifference> difference;  // where they differ and are pictures of one size
  std::string trouble;                        // why they could not be compared
  std::string text() const;                   // one sentence
};
Outputs compare_outputs(const std::filesystem::path& a, const std::filesystem::path& b);

struct Report {
  MeasureOptions options;
  Clock clock = Clock::wall;
  uint64_t seed = kSeed;
  Machine machine;
  Measured measured;
  std::optional<Ratio> b;      // B over A
  std::optional<Ratio> again;  // A again over A
  std::optional<Outputs> outputs;
};

// Fills the ratios and compares the outputs.
void evaluate(Report& report);

// The values that are compared, of one variant: seconds, or what the figure counts.
std::vector<double> compared(const Report& report, int variant);
// "1.234 s", "56.1 ms"; figures have no unit.
std::string value_text(const Report& report, double value);
// "B takes 0.853 of A's time ..." or "... inside its own spread ...": what may be said, in one or two sentences.
std::string verdict(const Report& report);
std::string noise_sentence(const Report& report);    // empty without A against A
std::string outputs_sentence(const Report& report);  // empty where no command names an output

std::string to_text(const Report& report);
// `plot` and the folder of the pictures as they are to be linked; empty: not linked.
std::string to_markdown(const Report& report, const std::string& plot, const std::string& pictures);
std::string to_json(const Report& report);
std::string to_svg(const Report& report);

}  // namespace chiaro::ab
