// What `chiaro ops list` and `chiaro ops show` print.
#pragma once

#include <string>

#include "graph/op.h"
#include "runtime/engine.h"

namespace chiaro::cli {

std::string ops_table(const Engine& engine);
std::string op_text(const OpDef& op, const Engine& engine);

}  // namespace chiaro::cli
