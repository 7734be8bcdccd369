// Integer types of Foundation, and the packing of its structs.
#pragma once

#include <cstddef>
#include <cstdint>

// Core Foundation's; metal-cpp takes it from there.
using CFTimeInterval = double;

namespace NS {

using TimeInterval = double;
using Integer = std::intptr_t;
using UInteger = std::uintptr_t;

inline constexpr Integer IntegerMax = INTPTR_MAX;
inline constexpr Integer IntegerMin = INTPTR_MIN;
inline constexpr UInteger UIntegerMax = UINTPTR_MAX;

enum ComparisonResult : Integer { OrderedAscending = -1, OrderedSame = 0, OrderedDescending = 1 };

}  // namespace NS
