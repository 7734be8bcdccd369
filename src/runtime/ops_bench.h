// Benchmarks of ops at the sizes of Stable Diffusion and of transformers: time, GB/s and GFLOP/s, and percent of what
// the machine can do, measured in the same run (copy bandwidth, multiply-add peak). Weights are packed before, as plans
// do.
//
// Thread rule: as the Engine's; nothing else should run meanwhile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine.h"

namespace chiaro {

struct OpTiming {
  std::string op, what;  // "group_norm", "f32[2,64,64,320] ..."
  std::string kernel;
  double seconds = 0;           // the fastest run
  double bytes = 0, flops = 0;  // OpDef::cost: minimum traffic, and what a norm reads again that no cache holds
  std::string error;            // why it did not run
};

struct OpsBench {
  double copy_gbs = 0, peak_gflops = 0;  // the ceilings: of memcpy, and of multiply-adds
  double stream_gbs = 0;                 // copies past the caches, which percentages are not of
  int threads = 1;
  std::vector<OpTiming> timings;
  // Time at the ceilings (the later of memory and arithmetic) over the time taken.
  double roof_fraction(const OpTiming& t) const;
  std::string text() const;
  std::string markdown() const;  // a table; cases that did not run are left out
  std::string ceilings() const;
};

struct OpsBenchOptions {
  std::vector<std::string> ops = {};  // empty: all
  DType dtype = DType::f32;           // of activations
  double seconds_per_case = 0.3;      // repeated that long, at least three times
  bool dry = false;                   // plan every case and run none
};

// Errors: usage (no such device or op).
Result<OpsBench> bench_ops(Engine& engine, std::string_view device, const OpsBenchOptions& options = {});

}  // namespace chiaro
