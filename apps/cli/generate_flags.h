// The flags of `chiaro generate`. Only for .cpp files: CLI11 is slow to compile.
#pragma once

#include <CLI/CLI.hpp>

#include "chiaro/error.h"
#include "commands.h"

namespace chiaro::cli {

// Thrown out of CLI11's callbacks and caught in parse_arguments.
struct FlagRefused {
  Error error;
};

void add_generate_flags(CLI::App& app, GenerateOptions& options);
// Flags that people know from sd-cli: those that Chiaro decides itself, and those of features that it has not got.
void add_peer_flags(CLI::App& app, GenerateOptions& options);

}  // namespace chiaro::cli
