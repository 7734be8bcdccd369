#include "graph/attrs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/host_function.h"

namespace chiaro {

std::string attr_text(const AttrValue& value) {
  struct Visitor {
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const {
      const std::string text = fmt::format("{}", v);  // shortest text that reads back to the same double
      const bool looks_whole = text.find_first_not_of("-0123456789") == std::string::npos;
      return looks_whole ? text + ".0" : text;
    }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::string& v) const { return "\"" + v + "\""; }
    std::string operator()(const std::vector<int64_t>& v) const { return fmt::format("[{}]", fmt::join(v, ",")); }
    std::string operator()(const std::shared_ptr<const HostFunction>& v) const {
      return "<" + (v ? v->name : std::string("none")) + ">";
    }
    std::string operator()(const NeverHeld&) const { return {}; }
  };
  return std::visit(Visitor{}, value);
}

const AttrValue* find_attr(const AttrMap& map, std::string_view name) {
  const auto it = std::find_if(map.begin(), map.end(), [&](const auto& entry) { return entry.first == name; });
  return it == map.end() ? nullptr : &it->second;
}

std::string_view attr_enum_name(DType dtype) {
  return dtype_name(dtype);
}

bool attr_enum_parse(std::string_view text, DType& dtype) {
  const auto found = dtype_from_name(text);
  if (found) dtype = *found;
  return found.has_value();
}

void AttrReader::fail(std::string_view name, const AttrValue& value) {
  status_ = Error{ErrorCode::usage, fmt::format("attribute {} cannot be {}", name, attr_text(value)),
                  "the value is of another kind than the op declares", "see `chiaro ops show OP`", ""};
}

Status AttrReader::finish() const {
  if (!status_.ok()) return status_;
  for (const auto& [name, value] : map_) {
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
      return Error{ErrorCode::usage, fmt::format("unknown attribute {}", name),
                   fmt::format("the op has {}", fmt::join(known_, ", ")), "see `chiaro ops show OP`", ""};
    }
  }
  return {};
}

}  // namespace chiaro
