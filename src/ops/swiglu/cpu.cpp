#include "ops/swiglu/op.h"
#include "ops/unary.h"

namespace chiaro {

Kernels cpu_kernels_swiglu() {
  return make_kernels<GatedCpu<Swiglu>>();
}

}  // namespace chiaro
