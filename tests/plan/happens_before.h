// The oracle of the mutation tests: whether a plan, even a broken one, does harm. It shares nothing with the verifier.
//
// Every byte of every memory is one cell that says which byte of which storage it holds, and which write made it. What
// happens before what is the transitive closure, by brute force, of the order of each queue and of the waits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace chiaro::testing {

class Meaning;  // what every byte of every value is

class Oracle {
 public:
  // `whole` is a plan that is right; its kernels are the ones that its nodes may run with. It outlives the oracle, and
  // its graph stays as it is.
  explicit Oracle(const ExecutionPlan& whole);
  // That kernel plans of this call may run `node` on `device`, too.
  void allow(int32_t node, const std::string& device, uint64_t call) { calls_[{node, device}].push_back(call); }

  // Why the plan does harm: it cannot be run, two steps race, a device touches memory that it does not address, memory
  // ends before an access does, a node runs with another's kernel or not where it is pinned, or an output has a wrong
  // byte in list order or in one of `orders` random orders that the queues and waits allow. Empty: it does none.
  std::string harm(const ExecutionPlan& plan, int orders, uint64_t seed) const;

 private:
  std::shared_ptr<const Meaning> meaning_;
  std::map<std::pair<int32_t, std::string>, std::vector<uint64_t>> calls_;  // by node and device
};

}  // namespace chiaro::testing
