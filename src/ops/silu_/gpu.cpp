#include "ops/elementwise_gpu.h"
#include "ops/silu_/op.h"

namespace chiaro {

Kernels gpu_kernels_silu_() {
  return make_kernels<UnaryGpu<SiluInplace>>();
}

}  // namespace chiaro
