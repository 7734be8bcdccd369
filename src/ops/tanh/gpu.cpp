#include "ops/elementwise_gpu.h"
#include "ops/tanh/op.h"

namespace chiaro {

Kernels gpu_kernels_tanh() {
  return make_kernels<UnaryGpu<Tanh>>();
}

}  // namespace chiaro
