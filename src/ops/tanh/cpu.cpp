#include "ops/tanh/op.h"
#include "ops/unary.h"

namespace chiaro {

Kernels cpu_kernels_tanh() {
  return make_kernels<UnaryCpu<Tanh>>();
}

}  // namespace chiaro
