#include "ops/elementwise_gpu.h"
#include "ops/relu/op.h"

namespace chiaro {

Kernels gpu_kernels_relu() {
  return make_kernels<UnaryGpu<Relu>>();
}

}  // namespace chiaro
