#include "ops/elementwise_gpu.h"
#include "ops/silu/op.h"

namespace chiaro {

Kernels gpu_kernels_silu() {
  return make_kernels<UnaryGpu<Silu>>();
}

}  // namespace chiaro
