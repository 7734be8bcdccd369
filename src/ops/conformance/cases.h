// Conformance cases: what an op's folder lists, from which the harness derives dtypes, layouts, batches and aliasing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/declare.h"

namespace chiaro {

// One input of a case, in its natural shape. The harness multiplies layouts and dtypes over it.
struct CaseInput {
  Shape shape = {};
  double low = -1, high = 1;        // values are drawn evenly from [low, high], then rounded to the dtype
  std::optional<DType> dtype = {};  // fixed (indices, scales); otherwise the dtype under test
  bool weight = false;              // takes every weight dtype (f32 f16 bf16 f8_e4m3 f8_e5m2 i8) beside the tested one
  bool integer = false;             // whole numbers (indices, lengths)
  bool present = true;              // false: an optional input left out
  bool fixed_layout = false;        // dense only; block types are so anyway
  int batch_dim = -1;               // the dimension that the harness sets to 1, 2 and 3; -1: none
  double ramp = 0;                  // added to the values from the first to the last index of dimension 1, evenly
};

struct Case {
  const OpDef* op = nullptr;
  AttrMap attrs;
  std::vector<CaseInput> inputs;
  int64_t k = 1;     // length of the longest sum behind one output: tolerance is c * eps * sqrt(k)
  double c = 4;      // at most 4; 0: to the bit
  std::string note;  // what this case is for, shown on failure
  // Magnitude of the terms behind an output where they may cancel (a sum of k values near 0): see tolerance.h.
  double floor = 0;
};

// Every block type, for cases whose weight is in blocks.
inline std::vector<DType> block_types() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (is_block(static_cast<DType>(i))) all.push_back(static_cast<DType>(i));
  }
  return all;
}

class Cases {
 public:
  template <class O>
  Case& add(const typename O::Attrs& attrs, std::vector<CaseInput> inputs, int64_t k = 1) {
    cases_.push_back({&op_def<O>(), encode_attrs(attrs), std::move(inputs), k, 4, {}, 0});
    return cases_.back();
  }
  const std::vector<Case>& all() const { return cases_; }

 private:
  std::vector<Case> cases_;
};

struct CaseTableEntry {
  std::string_view op;
  void (*fill)(Cases&) = nullptr;
};
std::span<const CaseTableEntry> case_table();  // generated: one entry per op with a cases.cpp

}  // namespace chiaro
