#include "ops/add_/op.h"
#include "ops/binary.h"

namespace chiaro {

Kernels cpu_kernels_add_() {
  return make_kernels<BinaryCpu<AddInplace, BinaryFunction::plus>>();
}

}  // namespace chiaro
