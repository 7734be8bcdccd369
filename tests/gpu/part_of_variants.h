// Which variants of an op's cases an ordinary run takes. Every case, and in it every dtype of every input, every layout
// of every input, every batch and every result over an input, comes up at least once; what is left out is most of their
// combinations. CHIARO_LONG=1 runs all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ops/conformance/variants.h"

namespace chiaro::testing {

// What must come up of a variant, beside its case's other variants.
inline std::set<std::string> traits_of(const Variant& v) {
  std::set<std::string> all;
  for (size_t i = 0; i < v.inputs.size(); ++i) {
    if (!v.inputs[i].present) continue;
    const std::string input = std::to_string(i) + " ";
    all.insert(input + std::string(dtype_name(v.inputs[i].desc.dtype)));
    all.insert(input + std::string(layout_name(v.inputs[i].layout)));
  }
  all.insert("batch " + std::to_string(v.batch));
  all.insert("over " + std::to_string(v.overwrite));
  return all;
}

// FNV-1a (Fowler, Noll and Vo): the same order on every machine and library.
inline uint64_t order_of(const std::string& text) {
  uint64_t h = 0xCBF29CE484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return h;
}

// A part of a case's variants in a mixed order, in which one variant brings several traits; another `salt` gives
// another part, so that two devices do not run the same.
inline std::vector<Variant> part_of_variants(std::vector<Variant> all, const std::string& salt) {
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < all.size(); ++i) order.emplace_back(order_of(salt + all[i].text()), i);
  std::sort(order.begin(), order.end());
  std::set<std::string> reached;
  std::vector<Variant> part;
  for (const auto& [hash, i] : order) {
    const size_t before = reached.size();
    reached.merge(traits_of(all[i]));
    if (reached.size() > before) part.push_back(std::move(all[i]));
  }
  return part;
}

}  // namespace chiaro::testing
