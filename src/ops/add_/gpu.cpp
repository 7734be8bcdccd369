#include "ops/add_/op.h"
#include "ops/elementwise_gpu.h"

namespace chiaro {

Kernels gpu_kernels_add_() {
  return make_kernels<BinaryGpu<AddInplace, GpuBinary::plus>>();
}

}  // namespace chiaro
