#include "ops/div/op.h"
#include "ops/elementwise_gpu.h"

namespace chiaro {

Kernels gpu_kernels_div() {
  return make_kernels<BinaryGpu<Div, GpuBinary::over>>();
}

}  // namespace chiaro
