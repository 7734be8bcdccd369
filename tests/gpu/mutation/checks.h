// The conformance cases of one op, ready to be run on software GPUs again and again: variants with what they should
// give, cheapest first. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/soft_device.h"
#include "runtime/conformance_check.h"
#include "runtime/selftest.h"

// Which mutant is on: the kernels ask. 0: none.
extern "C" int chiaro_gpu_mutant;

namespace chiaro::mutation {

// How a failure begins that is none of the mutant's.
inline const std::string kWithoutMutant = "without a mutant: ";

// The devices that mutants run on: with simdgroup operations, and without.
class Devices {
 public:
  Devices();
  std::vector<std::unique_ptr<SoftTestDevice>>& all() { return all_; }
  // The checks that the self-test would run on device `i`.
  const std::vector<SelfTestChoice>& selftest(size_t i);

 private:
  ThreadPool pool_{1};
  std::vector<std::unique_ptr<SoftTestDevice>> all_;
  std::vector<std::vector<SelfTestChoice>> choices_;
};

class OpChecks {
 public:
  // The variants of the op's cases that a device takes, cheap ones first: all; or, for a first look, every sixth of
  // each case for two seconds; or those of the self-test. Runs each once, without a mutant. Errors: what fails without
  // a mutant.
  enum class Choice { all, some, selftest };
  static Result<std::unique_ptr<OpChecks>> make(Devices& devices, const std::string& op, Choice choice);

  size_t size() const { return checks_.size(); }
  double seconds() const { return seconds_; }  // of all, without a mutant
  // The first failure, in full; it begins with kWithoutMutant where the check fails without one, too.
  std::optional<std::string> failure();

 private:
  struct Check {
    size_t device = 0;
    double work = 0;
    Variant variant;
  };
  void add_selftest();
  void add_variants(size_t step);  // every step-th of each case
  void add_check(const Variant& v, size_t device);
  Status run_without_mutant(double most_seconds);  // drops what takes longer in all
  std::optional<std::string> run(Check& check);

  Devices* devices_ = nullptr;
  const OpDef* op_ = nullptr;
  std::vector<Case> cases_;
  std::vector<Check> checks_;
  std::map<std::string, std::shared_ptr<const Expectation>> known_;  // by the variant's text
  double seconds_ = 0;
};

}  // namespace chiaro::mutation
