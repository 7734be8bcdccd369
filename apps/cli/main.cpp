// The program: reads the command line and hands over to a command.
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
};

int run(std::vector<std::string> arguments) {
  const auto parsed = parse_arguments(std::move(arguments));
  if (const int* code = std::get_if<int>(&parsed)) return *code;
  return std::visit(Runner{}, std::get<Command>(parsed));
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
