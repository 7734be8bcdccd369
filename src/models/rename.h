// Pieces of names, for manifests: rules that turn a checkpoint's names into canonical ones.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace chiaro::models {

// Takes `prefix` off the front of `name`; false, and `name` as it was, where it is not there.
inline bool take_prefix(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return true;
}

// Takes "12." off the front of `name`. Nothing where it does not begin with a number of at most four digits and a dot.
inline std::optional<int64_t> take_index(std::string_view& name) {
  size_t digits = 0;
  int64_t index = 0;
  while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9') {
    index = index * 10 + (name[digits] - '0');
    if (++digits > 4) return std::nullopt;
  }
  const bool padded = digits > 1 && name[0] == '0';
  if (digits == 0 || padded || digits >= name.size() || name[digits] != '.') return std::nullopt;
  name.remove_prefix(digits + 1);
  return index;
}

// `name` with the first matching front exchanged ("in_layers.0." -> "norm1."); nothing where none matches.
inline std::optional<std::string> exchange_front(
    std::string_view name, std::initializer_list<std::pair<std::string_view, std::string_view>> fronts) {
  for (const auto& [from, to] : fronts) {
    if (name.starts_with(from)) return std::string(to) + std::string(name.substr(from.size()));
  }
  return std::nullopt;
}

// A table of fronts that is read both ways: from a checkpoint's names to canonical ones, and back.
using Fronts = std::span<const std::pair<std::string_view, std::string_view>>;
inline std::optional<std::string> exchange_front(std::string_view name, Fronts fronts) {
  for (const auto& [from, to] : fronts) {
    if (name.starts_with(from)) return std::string(to) + std::string(name.substr(from.size()));
  }
  return std::nullopt;
}
inline std::optional<std::string> exchange_back(std::string_view name, Fronts fronts) {
  for (const auto& [from, to] : fronts) {
    if (name.starts_with(to)) return std::string(from) + std::string(name.substr(to.size()));
  }
  return std::nullopt;
}

// prefix + rest, where there is a rest.
inline std::optional<std::string> below(const std::string& prefix, const std::optional<std::string>& rest) {
  if (!rest) return std::nullopt;
  return prefix + *rest;
}

}  // namespace chiaro::models
