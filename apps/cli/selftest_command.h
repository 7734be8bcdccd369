// `chiaro selftest`: whether the kernels of a device are right, on this machine, in a few seconds.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace chiaro::cli {

struct SelfTestCommandOptions {
  std::string device = "cpu";
  std::vector<std::string> disabled_ops;
  int threads = 0;
  bool json = false;
};

void add_selftest(CLI::App& app, SelfTestCommandOptions& options);
// The exit code: 1 where a check failed.
int run_selftest_command(const SelfTestCommandOptions& options);

}  // namespace chiaro::cli
