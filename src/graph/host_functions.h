// Host functions that a graph's text may name (`custom(%0) {fn="twice"}`), for tests, examples and `chiaro run`.
//
//   identity   y = x
//   negate     y = -x
//   twice      y = 2 x
//   sum        y = x0 + x1 + ..., all of one shape
//
// The result has the shape and dtype of the first input, is dense, and is computed in double precision.
// Thread rule: pure functions, and so are those that they give.
#pragma once

#include <memory>
#include <string_view>

#include "graph/host_function.h"

namespace chiaro {

// Errors: bad_file where there is no function of that name, with those that there are.
Result<std::shared_ptr<const HostFunction>> find_host_function(std::string_view name);

}  // namespace chiaro
