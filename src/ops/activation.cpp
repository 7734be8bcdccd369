#include "ops/activation.h"

namespace chiaro {

std::string_view attr_enum_name(Activation activation) {
  return activation_name(activation);
}

bool attr_enum_parse(std::string_view text, Activation& activation) {
  const auto found = activation_from_name(text);
  if (found) activation = *found;
  return found.has_value();
}

}  // namespace chiaro
