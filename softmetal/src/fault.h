// Reporting faults. What calls these goes on as if the wrong call had not been made.
#pragma once

#include <string>
#include <string_view>

#include "softmetal/softmetal.h"

namespace softmetal::detail {

// `call`: the function of the API that was wrong, `what` the rule it broke.
void fault(FaultKind kind, std::string_view call, std::string what, std::string why = "", std::string mend = "");

}  // namespace softmetal::detail
