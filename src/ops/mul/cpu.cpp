#include "ops/binary.h"
#include "ops/mul/op.h"

namespace chiaro {

Kernels cpu_kernels_mul() {
  return make_kernels<BinaryCpu<Mul, BinaryFunction::times>>();
}

}  // namespace chiaro
