#include "ops/elementwise_gpu.h"
#include "ops/mul_/op.h"

namespace chiaro {

Kernels gpu_kernels_mul_() {
  return make_kernels<BinaryGpu<MulInplace, GpuBinary::times>>();
}

}  // namespace chiaro
