#include "ops/geglu/op.h"
#include "ops/unary.h"

namespace chiaro {

Kernels cpu_kernels_geglu() {
  return make_kernels<GatedCpu<Geglu>>();
}

}  // namespace chiaro
