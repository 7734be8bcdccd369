#include "ops/add/op.h"
#include "ops/elementwise_gpu.h"

namespace chiaro {

Kernels gpu_kernels_add() {
  return make_kernels<BinaryGpu<Add, GpuBinary::plus>>();
}

}  // namespace chiaro
