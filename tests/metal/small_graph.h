// A graph like a piece of a model: a norm, what follows it in place, matrices and a softmax; large enough weights that
// one of them stays in host memory.
#pragma once

#include "../runtime/devices.h"

namespace chiaro::testing {

// Inputs "x" [1,2,2,16]; output "y".
Chain small_graph();

}  // namespace chiaro::testing
