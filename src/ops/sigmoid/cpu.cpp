#include "ops/sigmoid/op.h"
#include "ops/unary.h"

namespace chiaro {

Kernels cpu_kernels_sigmoid() {
  return make_kernels<UnaryCpu<Sigmoid>>();
}

}  // namespace chiaro
