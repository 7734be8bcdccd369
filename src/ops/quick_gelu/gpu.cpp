#include "ops/elementwise_gpu.h"
#include "ops/quick_gelu/op.h"

namespace chiaro {

Kernels gpu_kernels_quick_gelu() {
  return make_kernels<UnaryGpu<QuickGelu>>();
}

}  // namespace chiaro
