// CPU kernels of conv2d beside those of the table.
#pragma once

#include "ops/kernel.h"

namespace chiaro {

// Winograd wherever the window allows it, whether it pays or not: for tests, in place of the table's list.
Kernels cpu_kernels_conv2d_winograd();

}  // namespace chiaro
