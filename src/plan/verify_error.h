// The verifier's errors: which of its seven points (verify.h) does not hold, and what was found.
#pragma once

#include <string>

#include "plan/plan.h"

namespace chiaro {

enum class Point { kernels = 1, operands, targets, bytes, order, pins, one_device };

Error plan_error(Point point, const std::string& what, std::string why, const std::string& label);

std::string range_text(int64_t begin, int64_t end);  // "[0,64)"
// "arena1+64": the arena of device 1; "input0@2+0": device 2's copy of input 0.
std::string ref_text(const MemRef& ref);

}  // namespace chiaro
