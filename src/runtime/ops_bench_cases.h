// The sizes that ops are timed at. Internal to runtime/ops_bench*.
#pragma once

#include <string_view>
#include <vector>

#include "graph/op.h"

namespace chiaro {

struct BenchInput {
  Shape shape = {};
  bool activation = true;           // of the dtype under test; else f32
  std::vector<int64_t> order = {};  // of the dimensions in memory, outermost first; empty: dense
  bool index = false;               // i32 zeros
  bool weight = false;              // the same at every run: packed before, where the kernel asks for it
};

struct BenchCase {
  std::string_view op;
  AttrMap attrs;                   // over the op's defaults
  std::vector<BenchInput> inputs;  // an empty shape: left out
  bool reads_twice = false;        // the op has to read its first input twice: from memory, if no cache holds it
};

std::vector<BenchCase> bench_cases();

}  // namespace chiaro
