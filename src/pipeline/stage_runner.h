// StageRunner: plans, memory and checks around one stage of the pipeline (encode, sample, decode).
//
// Plans are cached by what they were built for, and the packed weights that they read are held until clear(), until the
// session is done with their stage, or until memory is short: those of other stages are given up before a stage takes
// more than there is. Arenas live only as long as their stage, so that the peak is that of the largest stage.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/chiaro.h"
#include "runtime/executor.h"

namespace chiaro {

// Thread rule: one thread at a time.
class StageRunner {
 public:
  StageRunner(Engine& engine, const PlanOptions& options) : engine_(engine), options_(options) {
    options_.wide_weights = engine.wide_weights();
  }

  using BuildGraph = std::function<Result<Graph>()>;
  // The cached plan of `key`, or a new one.
  Result<std::shared_ptr<const ExecutionPlan>> plan(const std::string& key, const BuildGraph& build);
  // Ready to run that plan. `options` are those of the runs: their cancel also stops the packing of weights.
  Result<std::unique_ptr<Executor>> executor(const std::string& key, const BuildGraph& build,
                                             const RunOptions& options = {});
  // Which device may not hold what the plan allocates there (arena, weights, packed weights), with both sizes; empty
  // where all may. It depends on the plan and the devices alone, not on what they hold now.
  static std::string over_budget(const ExecutionPlan& plan);
  // Nodes that run elsewhere than they were placed, a sentence per stage that ran since begin_run().
  void begin_run() { moved_.clear(); }
  const std::vector<std::string>& moved() const { return moved_; }
  // Gives up the packed weights of a stage ("text encoder": a key up to its comma); those that another reads too stay.
  void release(std::string_view stage);
  void clear() {
    plans_.clear();
    order_.clear();
    packed_.clear();
    engine_.packed_weights().forget_dropped();
  }

 private:
  void make_room(const std::string& key, const ExecutionPlan& plan);
  void release_others(const std::string& stage);
  void note_moved(const std::string& key, const ExecutionPlan& plan);

  static constexpr size_t kMostPlans = 16;  // the oldest is dropped
  Engine& engine_;
  PlanOptions options_;
  std::map<std::string, std::shared_ptr<const ExecutionPlan>> plans_;
  std::vector<std::string> order_;
  std::map<std::string, std::set<std::shared_ptr<Buffer>>, std::less<>> packed_;  // by stage
  std::vector<std::string> moved_;
};

// The first value that is not finite, as an error naming the stage; ok where all are.
Status check_finite(std::span<const float> values, std::string_view stage, std::string_view what);

}  // namespace chiaro
