// `chiaro ab --a CMD --b CMD`: two commands, timed in turn in fresh processes, and whether one is faster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace chiaro::cli {

struct AbOptions {
  std::string a, b, output_flag, figure, clock = "wall";
  bool a_vs_a = false, shell = false;
  int repeats = 5, warmup = 1;
  double timeout = 0;
  std::optional<uint64_t> seed;
  std::optional<double> min_psnr;
  std::string report, json, markdown, svg;  // where to write
};

void add_ab(CLI::App& app, AbOptions& options);
int run_ab(const AbOptions& options);

}  // namespace chiaro::cli
