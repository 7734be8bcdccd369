#include "ops/silu_/op.h"
#include "ops/unary.h"

namespace chiaro {

Kernels cpu_kernels_silu_() {
  return make_kernels<UnaryCpu<SiluInplace>>();
}

}  // namespace chiaro
