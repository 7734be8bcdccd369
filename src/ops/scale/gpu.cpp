#include "ops/elementwise_gpu.h"
#include "ops/scale/op.h"

namespace chiaro {

Kernels gpu_kernels_scale() {
  return make_kernels<UnaryGpu<Scale>>();
}

}  // namespace chiaro
