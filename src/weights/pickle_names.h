// The names that a pickle may mention. Internal to the reader.
#pragma once

#include <optional>
#include <string_view>

namespace chiaro {

enum class PickleName {
  ordered_dict,  // called: a dict
  size,          // called with a list: that list
  tensor,        // called: a tensor
  parameter,     // called with a tensor: that tensor
  type,          // a storage's or a tensor's type: never called
  inert,         // called: something opaque
};

// Nothing for a name that is not known: it must be refused. `module` and `name` as the pickle has them.
std::optional<PickleName> pickle_name(std::string_view module, std::string_view name);

}  // namespace chiaro
