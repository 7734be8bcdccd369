// Attributes of a node: a canonical, ordered map that prints, parses and compares, and the typed structs that ops see.
//
// An op declares `struct Attrs` with a member template `visit`:
//   struct Attrs { int64_t groups = 32; template <class V> void visit(V& v) { v("groups", groups); } };
// Everything else (printing, parsing, defaults, docs) is derived from it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/shape.h"

namespace chiaro {

struct HostFunction;  // see graph/host_function.h: the body of a `custom` op

// Never held. Without a type of our own among them, libstdc++ 12 takes the alternatives of AttrValue for ones that
// leave no variant without a value; its copy constructor, when an allocation is refused, then destroys what was not
// made.
struct NeverHeld {
  NeverHeld() = default;
  NeverHeld(const NeverHeld&) noexcept {}
  NeverHeld& operator=(const NeverHeld&) noexcept { return *this; }
  bool operator==(const NeverHeld&) const = default;
};

using AttrValue = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>,
                               std::shared_ptr<const HostFunction>, NeverHeld>;
using AttrMap = std::vector<std::pair<std::string, AttrValue>>;

std::string attr_text(const AttrValue& value);  // 32, 1e-05, true, "silu", [1,1]
const AttrValue* find_attr(const AttrMap& map, std::string_view name);

// An enum takes part as its text: specialise attr_enum_name/attr_enum_parse by overloads found by ADL.
//   std::string_view attr_enum_name(Activation a);
//   bool attr_enum_parse(std::string_view text, Activation& a);
std::string_view attr_enum_name(DType dtype);
bool attr_enum_parse(std::string_view text, DType& dtype);

// Collects the fields of an Attrs struct into an AttrMap.
class AttrWriter {
 public:
  explicit AttrWriter(AttrMap& map) : map_(map) {}
  template <class T>
  void operator()(std::string_view name, T& field) {
    if constexpr (std::is_enum_v<T>) {
      map_.emplace_back(name, std::string(attr_enum_name(field)));
    } else if constexpr (std::is_same_v<T, Dims>) {
      map_.emplace_back(name, std::vector<int64_t>(field.begin(), field.end()));
    } else {
      map_.emplace_back(std::string(name), AttrValue(field));
    }
  }

 private:
  AttrMap& map_;
};

// Fills an Attrs struct from an AttrMap; fields not in the map keep their defaults. Remembers the first mistake.
class AttrReader {
 public:
  explicit AttrReader(const AttrMap& map) : map_(map) {}
  template <class T>
  void operator()(std::string_view name, T& field) {
    known_.emplace_back(name);
    const AttrValue* value = find_attr(map_, name);
    if (value == nullptr || !status_.ok()) return;
    bool fits = false;
    if constexpr (std::is_enum_v<T>) {
      const auto* text = std::get_if<std::string>(value);
      fits = text != nullptr && attr_enum_parse(*text, field);
    } else if constexpr (std::is_same_v<T, Dims>) {
      const auto* list = std::get_if<std::vector<int64_t>>(value);
      fits = list != nullptr && list->size() <= kMaxRank;
      if (fits) field = Dims(std::span<const int64_t>(*list));
    } else if constexpr (std::is_same_v<T, double>) {
      if (const auto* whole = std::get_if<int64_t>(value)) {
        field = static_cast<double>(*whole);
        return;
      }
      fits = take(*value, field);
    } else {
      fits = take(*value, field);
    }
    if (!fits) fail(name, *value);
  }
  // The first error, or one for a name that the op does not have.
  Status finish() const;

 private:
  template <class T>
  static bool take(const AttrValue& value, T& field) {
    const T* typed = std::get_if<T>(&value);
    if (typed != nullptr) field = *typed;
    return typed != nullptr;
  }
  void fail(std::string_view name, const AttrValue& value);
  const AttrMap& map_;
  std::vector<std::string> known_;
  Status status_;
};

template <class Attrs>
AttrMap encode_attrs(Attrs attrs) {
  AttrMap map;
  AttrWriter writer(map);
  attrs.visit(writer);
  return map;
}

template <class Attrs>
Result<Attrs> decode_attrs(const AttrMap& map) {
  Attrs attrs;
  AttrReader reader(map);
  attrs.visit(reader);
  CHIARO_TRY(reader.finish());
  return attrs;
}

// For ops without attributes.
struct NoAttrs {
  template <class V>
  void visit(V&) {}
};

}  // namespace chiaro
