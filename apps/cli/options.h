// The command line, read.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ab_command.h"
#include "bench_command.h"
#include "commands.h"
#include "convert_command.h"
#include "selftest_command.h"
#include "synth_command.h"

namespace chiaro::cli {

using Command =
    std::variant<GenerateOptions, InspectOptions, CompareOptions, DevicesOptions, OpsOptions, PlanCommandOptions,
                 RunCommandOptions, ConvertOptions, SynthOptions, AbOptions, BenchOptions, SelfTestCommandOptions>;

// `arguments` without the program's name, in UTF-8. Either what to do, or the exit code after help, the version or a
// usage error was printed.
std::variant<Command, int> parse_arguments(std::vector<std::string> arguments);

}  // namespace chiaro::cli
