// Kernels that a user does without ("--disable-op"), by the name of their op or their own: the same on every device.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ops/kernel.h"

namespace chiaro {

inline bool names_kernel(std::string_view name, const Kernel& kernel) {
  return name == kernel.op || name == kernel.name;
}

// Whether the name is that of an op with kernels in the table, or of one of them.
inline bool names_any(std::string_view name, const KernelTable& table) {
  const auto named = [&](const Kernel& kernel) { return names_kernel(name, kernel); };
  return std::any_of(table.begin(), table.end(), [&](const Kernels& candidates) {
    return std::any_of(candidates.begin(), candidates.end(), named);
  });
}

// Leaves out what the names name, and the lists that are empty.
inline void remove_disabled(KernelTable& table, const std::vector<std::string>& names) {
  const auto disabled = [&](const Kernel& kernel) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return names_kernel(name, kernel); });
  };
  for (Kernels& candidates : table) std::erase_if(candidates, disabled);
  std::erase_if(table, [](const Kernels& candidates) { return candidates.empty(); });
}

}  // namespace chiaro
