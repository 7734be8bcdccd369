#include "ops/elementwise_gpu.h"
#include "ops/geglu/op.h"

namespace chiaro {

Kernels gpu_kernels_geglu() {
  return make_kernels<GatedGpu<Geglu>>();
}

}  // namespace chiaro
