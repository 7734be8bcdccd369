#include "ops/quick_gelu/op.h"
#include "ops/unary.h"

namespace chiaro {

Kernels cpu_kernels_quick_gelu() {
  return make_kernels<UnaryCpu<QuickGelu>>();
}

}  // namespace chiaro
