// Makes a failing case small, and keeps it.
#pragma once

#include <functional>
#include <string>

#include "random_case.h"

namespace chiaro::testing {

// Leaves out outputs, nodes, pins, masks, devices and options for as long as `fails` holds, at most `attempts` times.
RandomCase shrink(RandomCase c, const std::function<bool(const RandomCase&)>& fails, int attempts = 4000);

Status write_case(const std::string& path, const RandomCase& c);
Result<RandomCase> read_case(const std::string& path);

}  // namespace chiaro::testing
