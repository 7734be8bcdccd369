#include "ops/relu/op.h"
#include "ops/unary.h"

namespace chiaro {

Kernels cpu_kernels_relu() {
  return make_kernels<UnaryCpu<Relu>>();
}

}  // namespace chiaro
