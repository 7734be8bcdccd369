// Tensors of a file, in the order of their names.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/tensor.h"

namespace chiaro {

// The tensor of that name in a list that is sorted by name; nullptr where there is none. O(log n).
inline TensorDataPtr find_tensor(const std::vector<TensorDataPtr>& sorted, std::string_view name) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), name,
                                   [](const TensorDataPtr& t, std::string_view n) { return t->name < n; });
  return at != sorted.end() && (*at)->name == name ? *at : nullptr;
}

}  // namespace chiaro
