// How many layers a network in a file has, by the names of its tensors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "models/rename.h"

namespace chiaro::models {

// One more than the largest number N in names that begin with `front`N., at most `most`: where a layer in between is
// not there, the network lacks it and does not end before it. 0 where there is none.
inline int64_t count_layers(std::span<const std::string> names, std::string_view front, int64_t most) {
  int64_t layers = 0;
  for (const std::string_view name : names) {
    std::string_view rest = name;
    if (!take_prefix(rest, front)) continue;
    if (const auto index = take_index(rest)) layers = std::max(layers, *index + 1);
  }
  return std::min(layers, most);
}

}  // namespace chiaro::models
