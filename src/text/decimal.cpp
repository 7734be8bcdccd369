// Decimal numbers of prompts.
#include "text/decimal.h"

#include <cstdint>

namespace chiaro {

std::optional<double> parse_decimal(std::string_view text) {
  constexpr double kLargest = 1e6;
  constexpr std::uint64_t kDigitsFull = 100'000'000'000'000'000ULL;  // another digit still fits in 64 bits
  bool negative = false;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  std::uint64_t digits = 0;
  int scale = 0;  // the value is digits * 10^scale
  bool point = false;
  bool any = false;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    any = true;
    if (digits < kDigitsFull) {
      digits = digits * 10 + static_cast<std::uint64_t>(c - '0');
      scale -= point ? 1 : 0;
    } else if (!point) {
      return std::nullopt;  // 18 digits in front of the point
    }
  }
  if (!any) return std::nullopt;
  double divisor = 1;
  // 10^22 is the last exact power. More places occur only behind zeros, where an ulp is of no account.
  for (int i = scale; i < 0; ++i) divisor *= 10;
  const double value = static_cast<double>(digits) / divisor;
  if (!(value <= kLargest)) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace chiaro
