#include "ops/add/op.h"
#include "ops/binary.h"

namespace chiaro {

Kernels cpu_kernels_add() {
  return make_kernels<BinaryCpu<Add, BinaryFunction::plus>>();
}

}  // namespace chiaro
