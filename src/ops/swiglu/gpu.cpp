#include "ops/elementwise_gpu.h"
#include "ops/swiglu/op.h"

namespace chiaro {

Kernels gpu_kernels_swiglu() {
  return make_kernels<GatedGpu<Swiglu>>();
}

}  // namespace chiaro
