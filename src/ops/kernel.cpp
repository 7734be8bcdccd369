#include "ops/kernel.h"

namespace chiaro {

Error kernel_refusal(std::string_view kernel, std::string what, std::string needs) {
  return {ErrorCode::unsupported, std::string(kernel) + " does not take " + std::move(what), std::move(needs),
          "the planner inserts a copy or another kernel", ""};
}

}  // namespace chiaro
