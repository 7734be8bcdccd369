#include "ops/binary.h"
#include "ops/mul_/op.h"

namespace chiaro {

Kernels cpu_kernels_mul_() {
  return make_kernels<BinaryCpu<MulInplace, BinaryFunction::times>>();
}

}  // namespace chiaro
