// The flags about devices and planning that generate, plan and run share. Only for .cpp files: CLI11 is slow to
// compile.
#pragma once

#include <CLI/CLI.hpp>

#include "commands.h"

namespace chiaro::cli {

void add_device_flags(CLI::App& app, DeviceOptions& options);

}  // namespace chiaro::cli
