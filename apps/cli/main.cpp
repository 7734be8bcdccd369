// The program: reads the command line and hands over to a command.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "commands.h"
#include "exit_code.h"
#include "options.h"

namespace chiaro::cli {
namespace {

struct Runner {
  int operator()(const GenerateOptions& o) const { return run_generate(o); }
  int operator()(const InspectOptions& o) const { return run_inspect(o); }
  int operator()(const CompareOptions& o) const { return run_compare(o); }
  int operator()(const DevicesOptions& o) const { return run_devices(o); }
  int operator()(const OpsOptions& o) const { return run_ops(o); }
  int operator()(const PlanCommandOptions& o) const { return run_plan(o); }
  int operator()(const RunCommandOptions& o) const { return run_graph(o); }
  int operator()(const ConvertOptions& o) const { return run_convert(o); }
  int operator()(const SynthOptions& o) const { return run_synth(o); }
  int operator()(const AbOptions& o) const { return run_ab(o); }
  int operator()(const BenchOptions& o) const { return run_bench(o); }
  int operator()(const SelfTestCommandOptions& o) const { return run_selftest_command(o); }
};

// Whether what was printed was lost, as on a full disk. A closed pipe or a closed descriptor is the reader's wish.
bool output_lost() {
  std::fflush(stdout);
  struct stat info {};
  return std::ferror(stdout) != 0 && ::fstat(STDOUT_FILENO, &info) == 0 && !S_ISFIFO(info.st_mode) &&
         !S_ISSOCK(info.st_mode);
}

int run(std::vector<std::string> arguments) {
  const auto parsed = parse_arguments(std::move(arguments));
  const int* done = std::get_if<int>(&parsed);
  const int code = done != nullptr ? *done : std::visit(Runner{}, std::get<Command>(parsed));
  if (code != kOk || !output_lost()) return code;
  std::fputs("error[io] cannot write to standard output\n", stderr);
  return kNoSpace;
}

}  // namespace
}  // namespace chiaro::cli

int main(int argc, char** argv) {
  try {
    return chiaro::cli::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::bad_alloc&) {
    std::fputs("error[memory] no memory left\n", stderr);
    return chiaro::cli::kNoSpace;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error[internal] %s\n", error.what());
    return chiaro::cli::kInternal;
  }
}
