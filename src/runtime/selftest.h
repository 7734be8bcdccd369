// The self-test: some four hundred tiny checks of a device's kernels against the double-precision references, in a few
// seconds, on the user's own machine. For bug reports, and to find the kernel to do without.
//
// The checks are variants of the conformance cases, chosen by what they reach: every kernel, every launch's function
// constants, every case's kind of operands and layouts, cheap ones first. No list is kept: what an op gains, its checks
// follow.
//
// Thread rule: as the Engine's. Nothing is kept between calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/conformance/variants.h"
#include "runtime/engine.h"

namespace chiaro {

inline constexpr size_t kSelfTestChecks = 400;

struct SelfTestFailure {
  std::string op, kernel;
  std::string why;    // the first check that failed, in full
  int failed = 0;     // checks of this kernel that failed
  std::string flags;  // what does without it: "--disable-op silu@cpu"
};

struct SelfTestReport {
  std::string device;
  int checks = 0, failed = 0;             // runs of one kernel
  std::vector<SelfTestFailure> failures;  // one per kernel
  std::vector<std::string> not_here;      // ops that the device has no kernel for; they run elsewhere or as others
  double seconds = 0;

  bool passed() const { return failed == 0 && checks > 0; }
  std::string text() const;
  std::string json() const;
};

// Errors: usage (no such device), and what a reference reports.
Result<SelfTestReport> run_selftest(Engine& engine, std::string_view device);

// One op's cases and the checks chosen among them. Move-only: checks point into the cases.
struct SelfTestChoice {
  SelfTestChoice() = default;
  SelfTestChoice(SelfTestChoice&&) = default;
  SelfTestChoice& operator=(SelfTestChoice&&) = default;

  const OpDef* op = nullptr;
  std::vector<Case> cases;
  std::vector<Variant> checks;
};
// What run_selftest runs, about kSelfTestChecks in all.
std::vector<SelfTestChoice> choose_selftest(const Device& device);

}  // namespace chiaro
