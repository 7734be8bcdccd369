// Whether the long form of a test was asked for: CHIARO_LONG=1, as `make test-full` sets it.
#pragma once
#include <cstdlib>
#include <string_view>

namespace chiaro::testing {

inline bool long_tests() {
  const char* value = std::getenv("CHIARO_LONG");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

}  // namespace chiaro::testing
