#include "ops/elementwise_gpu.h"
#include "ops/mul/op.h"

namespace chiaro {

Kernels gpu_kernels_mul() {
  return make_kernels<BinaryGpu<Mul, GpuBinary::times>>();
}

}  // namespace chiaro
