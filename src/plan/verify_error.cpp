#include "plan/verify_error.h"

#include <array>

namespace chiaro {

Error plan_error(Point point, const std::string& what, std::string why, const std::string& label) {
  static constexpr std::array<const char*, 8> kRules{"",
                                                     "every node has its own kernel",
                                                     "operands are found where their device reads",
                                                     "in-place results lie where their target lives",
                                                     "bytes are shared by contract only",
                                                     "waits order what shares bytes",
                                                     "pinned nodes stay where they are pinned",
                                                     "one device is one segment without copies"};
  const auto number = static_cast<size_t>(point);
  return {ErrorCode::internal,
          "the plan is wrong (point " + std::to_string(number) + ", " + kRules[number] + "): " + what, std::move(why),
          "this is our own mistake; please report it with the output of `chiaro plan`", label};
}

std::string range_text(int64_t begin, int64_t end) {
  return "[" + std::to_string(begin) + "," + std::to_string(end) + ")";
}

std::string ref_text(const MemRef& ref) {
  const std::string offset = "+" + std::to_string(ref.offset), device = std::to_string(ref.device);
  switch (ref.region) {
    case Region::none: return "nowhere";
    case Region::arena: return "arena" + device + offset;
    case Region::input: return "input" + std::to_string(ref.index) + "@" + device + offset;
    case Region::weight: return "weight" + std::to_string(ref.index) + "@" + device + offset;
    case Region::packed: return "packed" + std::to_string(ref.index) + "@" + device + offset;
  }
  return "nowhere";
}

}  // namespace chiaro
