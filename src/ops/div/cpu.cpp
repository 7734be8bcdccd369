#include "ops/binary.h"
#include "ops/div/op.h"

namespace chiaro {

Kernels cpu_kernels_div() {
  return make_kernels<BinaryCpu<Div, BinaryFunction::over>>();
}

}  // namespace chiaro
