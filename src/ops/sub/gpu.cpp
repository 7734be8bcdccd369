#include "ops/elementwise_gpu.h"
#include "ops/sub/op.h"

namespace chiaro {

Kernels gpu_kernels_sub() {
  return make_kernels<BinaryGpu<Sub, GpuBinary::minus>>();
}

}  // namespace chiaro
