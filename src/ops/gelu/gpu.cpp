#include "ops/elementwise_gpu.h"
#include "ops/gelu/op.h"

namespace chiaro {

Kernels gpu_kernels_gelu() {
  return make_kernels<UnaryGpu<Gelu>>();
}

}  // namespace chiaro
