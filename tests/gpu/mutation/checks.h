// The conformance cases of some ops, ready to be run on software GPUs again and again: variants with what they should
// give. One thread.
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
  const std::string& profile(size_t i) const { return profiles_[i]; }
  // The checks that the self-test would run on device `i`.
  const std::vector<SelfTestChoice>& selftest(size_t i);

 private:
  const std::vector<std::string> profiles_{"apple7", "apple5-vm"};
  ThreadPool pool_{1};
  std::vector<std::unique_ptr<SoftTestDevice>> all_;
  std::vector<std::vector<SelfTestChoice>> choices_;
};

struct Failure {
  size_t check = 0;
  std::string text;  // in full; it begins with kWithoutMutant where the check fails without one, too
};

class Checks {
 public:
  // The variants of the ops' cases that a device takes: all, those of an ordinary run first (gpu/part_of_variants.h);
  // these alone; or those of the self-test. Cheap ones first. What they should give is computed here, once. Errors:
  // usage (no such op), what a reference reports.
  enum class Choice { all, part, selftest };
  static Result<std::unique_ptr<Checks>> make(Devices& devices, const std::vector<std::string>& ops, Choice choice);

  size_t size() const { return checks_.size(); }
  double seconds() const { return seconds_; }  // of processor time that making took
  // The first failure under the mutant that is on.
  std::optional<Failure> failure();
  // `check` caught a mutant: from now on those that caught most come first.
  void credit(size_t check);

 private:
  struct Check {
    const OpDef* op = nullptr;
    size_t device = 0;
    double work = 0;
    Variant variant;
    std::shared_ptr<const Expectation> expected;  // shared by the devices
    bool late = false;                            // not of an ordinary run
    int caught = 0;
  };
  void add_selftest(const OpDef& op);
  void add_variants(const OpDef& op, bool all);
  void add_check(const OpDef& op, const Variant& v, size_t device, bool late);
  Status expect_all();
  std::optional<std::string> run(const Check& check);

  Devices* devices_ = nullptr;
  std::vector<std::vector<Case>> cases_;  // variants point at them
  std::vector<Check> checks_;
  std::vector<size_t> order_;
  double seconds_ = 0;
};

}  // namespace chiaro::mutation
