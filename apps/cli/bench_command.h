// `chiaro bench`: how fast whole models run here, stage by stage, beside what the machine can do at most.
#pragma once

#include <string>
#include <vector>

#include "commands.h"

namespace CLI {
class App;
}

namespace chiaro::cli {

struct BenchOptions {
  std::vector<std::string> models;  // as generate takes them; several are timed in turn
  std::string standard;             // a folder of Stable Diffusion 1.5 in several types, made where missing
  PartOptions parts;                // of a model in parts
  int width = 0, height = 0, steps = 1, rounds = 5, top = 10;
  std::string precision = "auto", json;
  DeviceOptions device;
};

void add_bench(CLI::App& app, BenchOptions& options);
int run_bench(const BenchOptions& options);

}  // namespace chiaro::cli
