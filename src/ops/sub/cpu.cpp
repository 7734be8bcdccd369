#include "ops/binary.h"
#include "ops/sub/op.h"

namespace chiaro {

Kernels cpu_kernels_sub() {
  return make_kernels<BinaryCpu<Sub, BinaryFunction::minus>>();
}

}  // namespace chiaro
