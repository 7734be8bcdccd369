#include "graph/op.h"

namespace chiaro {

Error op_error(std::string_view op, std::string what, std::string why, std::string mend) {
  return {ErrorCode::shape, std::string(op) + " refuses " + std::move(what), std::move(why), std::move(mend), ""};
}

double minimum_bytes(InputDescs inputs, const TensorDesc& out) {
  auto bytes = static_cast<double>(out.dense_bytes());
  for (const TensorDesc* input : inputs) {
    if (input != nullptr) bytes += static_cast<double>(input->dense_bytes());
  }
  return bytes;
}

}  // namespace chiaro
