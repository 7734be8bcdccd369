// What `chiaro ops list` prints.
#pragma once

#include <string>

#include "runtime/engine.h"

namespace chiaro::cli {

std::string ops_table(const Engine& engine);

}  // namespace chiaro::cli
