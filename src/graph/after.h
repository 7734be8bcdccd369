// after(x, w): the view `x` of a storage, at the version that `w` (another view of the same storage) has.
// How a graph reads a tensor again once part of it was written: GraphBuilder::latest makes it.
#pragma once

#include "graph/op.h"

namespace chiaro {

const OpDef& after_op();

}  // namespace chiaro
