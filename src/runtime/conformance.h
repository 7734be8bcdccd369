// The conformance suite of a device: every case of the catalogue in every dtype, layout and batch, against the
// double-precision references.
//
// Each variant is offered to every kernel that the device has for its op, in its very layout, in memory that is NaN
// wherever nothing was stored and guarded on both sides. A layout that no kernel takes is run through the planner,
// which has to insert the copy. Where the results of pictures alone, of other thread counts and of the planner should
// be the same, they are compared bit by bit (the planner: against the reference).
//
// The CPU's kernels take every case, and so do devices that run them. On other devices a case that no kernel takes is
// missing, counted with the kernels' reasons; a kernel that takes no case at all is a failure there, too.
//
// Thread rule: as the Engine's. Nothing is kept between calls.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine.h"

namespace chiaro {

struct ConformanceOptions {
  std::vector<std::string> ops = {};  // empty: the whole catalogue
  std::vector<Engine*> same_bits =
      {};               // engines (other thread counts) whose device of the same name must agree bitwise
  bool planner = true;  // also run through make_plan and an Executor
  std::function<bool(const std::string& variant)> only = nullptr;  // null: all; else those for which it returns true
};

struct OpConformance {
  std::string op;
  int cases = 0, variants = 0;
  int ran = 0;                         // variants that a kernel took as they are
  int copied = 0;                      // variants that ran after copies of the planner
  int planned = 0;                     // further runs through the planner
  int missing = 0;                     // cases that this device does not take in any variant
  std::map<std::string, int> refused;  // reason -> variants that are not to run (a dtype that no kernel takes)
  int failed = 0;
  std::vector<std::string> failures;  // the first few, in full
  double seconds = 0;
};

struct ConformanceReport {
  std::string device;
  std::vector<OpConformance> ops;

  bool passed() const;
  int variants() const;
  // One line per op, the reasons of refusals, and the failures.
  std::string text() const;
};

// Errors: usage (no such device, no such op).
Result<ConformanceReport> run_conformance(Engine& engine, std::string_view device,
                                          const ConformanceOptions& options = {});

}  // namespace chiaro
