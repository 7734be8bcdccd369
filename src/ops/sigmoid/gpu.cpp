#include "ops/elementwise_gpu.h"
#include "ops/sigmoid/op.h"

namespace chiaro {

Kernels gpu_kernels_sigmoid() {
  return make_kernels<UnaryGpu<Sigmoid>>();
}

}  // namespace chiaro
