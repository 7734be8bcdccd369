// A pass over the events of the JSON reader that keeps only the keys of the objects that are open.
#include "weights/json_check.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "weights/printable.h"

namespace chiaro {
namespace {

class CheckEvents {
 public:
  explicit CheckEvents(int max_depth) : max_depth_(max_depth) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(int64_t) { return true; }
  bool number_unsigned(uint64_t) { return true; }
  bool number_float(double, const std::string&) { return true; }
  bool string(std::string&) { return true; }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(size_t) { return open(); }
  bool end_object() { return close(); }
  bool start_array(size_t) { return open(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    const auto [at, added] = keys_.back().insert(std::move(name));
    return added || fail("it has the key " + printable(*at) + " twice in one object");
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) {
    return fail("it is not valid JSON at byte " + std::to_string(position));
  }

  std::optional<std::string> fault;

 private:
  bool open() {
    if (static_cast<int>(keys_.size()) >= max_depth_) {
      return fail("it nests deeper than " + std::to_string(max_depth_) + " levels");
    }
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }
  bool fail(std::string text) {
    fault = std::move(text);
    return false;
  }

  int max_depth_;
  std::vector<std::set<std::string>> keys_;  // one set per open object or list (lists leave theirs empty)
};

}  // namespace

std::optional<std::string> find_json_fault(std::string_view text, int max_depth) {
  // The JSON reader takes a NUL byte for the end of its input, so what follows one would go unread.
  const size_t nul = text.find('\0');
  if (nul != std::string_view::npos) return "it holds a NUL byte at byte " + std::to_string(nul);
  CheckEvents events(max_depth);
  try {
    const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &events);
    if (!parsed && !events.fault) return "it is not valid JSON";
  } catch (const std::exception& e) {
    return std::string("it cannot be read: ") + e.what();
  }
  return std::move(events.fault);
}

}  // namespace chiaro
