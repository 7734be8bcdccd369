// Plain decimal numbers inside prompts: sign, digits, at most one point. No exponent, no locale.
// (libc++ 14 has no std::from_chars for floating point.)
// Thread rule: pure function.
#pragma once

#include <optional>
#include <string_view>

namespace chiaro {

// The number that all of `text` spells ("+1.25", ".5", "2."), exact up to 18 significant digits; empty where it is none
// or its magnitude is above 1e6.
std::optional<double> parse_decimal(std::string_view text);

}  // namespace chiaro
