// Breaks a plan in one way that a pass could get wrong, and mends it again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "happens_before.h"
#include "plan/plan.h"

namespace chiaro::testing {

// `undo` mends it. Nothing to break here: an empty name.
struct Mutation {
  std::string name;
  std::function<void()> undo;
};

class Mutator {
 public:
  // `oracle` is told of kernels that are minted anew for a node that is moved.
  Mutator(ExecutionPlan& plan, std::mt19937_64& random, Oracle* oracle = nullptr)
      : plan_(plan), random_(random), oracle_(oracle) {}

  Mutation any();
  static const std::vector<std::pair<const char*, Mutation (Mutator::*)()>>& kinds();

 private:
  // Segments as lists of steps, so that steps can be dropped, moved and put in segments of their own.
  struct Run {
    int32_t device = 0;
    std::vector<size_t> steps;
    std::vector<size_t> waits;  // runs
  };
  std::vector<Run> runs() const;
  // The plan's segments from `runs`: those without steps hand on what they waited for. Steps in no run are dropped.
  Mutation arrange(std::vector<Run> runs);

  Mutation drop_kernel();
  Mutation drop_copy();
  Mutation swap_steps();
  Mutation move_step();
  Mutation move_node();
  Mutation shift_operand();
  Mutation shift_result();
  Mutation shift_copy();
  Mutation shift_output();
  Mutation redirect_operand();
  Mutation redirect_result();
  Mutation redirect_copy();
  Mutation redirect_output();
  Mutation other_device();
  Mutation older_image();
  Mutation cut_copy();
  Mutation shrink_arena();
  Mutation move_scratch();
  Mutation read_newer();
  Mutation drop_wait();
  Mutation drop_waits();
  Mutation retarget_wait();
  Mutation drop_staged();
  Mutation swap_kernels();
  Mutation copy_directly();
  Mutation relabel_copy();

  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  PlanStep* any_kernel();  // nullptr where there is none
  PlanCopy* any_copy();
  MemRef* any_operand();
  const Node& node_of(const PlanStep& step) const { return plan_.graph.nodes()[static_cast<size_t>(step.node)]; }
  MemRef shifted(MemRef ref);
  MemRef elsewhere();
  Mutation change(MemRef* ref, const MemRef& to);
  template <class T>
  Mutation put(T& place, T value);

  ExecutionPlan& plan_;
  std::mt19937_64& random_;
  Oracle* oracle_;
};

}  // namespace chiaro::testing
