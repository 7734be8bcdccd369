#include "pipeline/stage_runner.h"

#include <fmt/format.h>

#include <cmath>

#include "plan/print.h"
#include "runtime/executor_memory.h"

namespace chiaro {
namespace {

constexpr int64_t kSpare = 16;  // a sixteenth of what a stage takes is left to the rest of the program

// Keys begin with the stage's name and a comma.
std::string stage_of(const std::string& key) {
  return key.substr(0, key.find(','));
}

}  // namespace

Result<std::shared_ptr<const ExecutionPlan>> StageRunner::plan(const std::string& key, const BuildGraph& build) {
  if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  auto graph = build();
  if (!graph.ok()) return std::move(graph).error();
  CHIARO_ASSIGN(auto plan, make_plan(*graph, engine_.devices(), options_));
  engine_.log()(LogLevel::info, LogCategory::plan,
                "{}: {} steps, arena {:.1f} MiB (lower bound {:.1f}), {:.1f} GFLOP, {:.1f} MiB in {} copies", key,
                plan->steps.size(), static_cast<double>(plan->arena_bytes()) / 0x1p20,
                static_cast<double>(plan->lower_bound_bytes()) / 0x1p20, plan->flops / 1e9,
                static_cast<double>(plan->copied_bytes()) / 0x1p20, plan->copies.size());
  for (const PassReport& pass : plan->passes) {
    engine_.log()(LogLevel::debug, LogCategory::plan, "  {:<20} {:7.2f} ms  {} changes", pass.pass, pass.seconds * 1e3,
                  pass.changes);
  }
  if (plans_.size() >= kMostPlans) {
    plans_.erase(order_.front());
    order_.erase(order_.begin());
  }
  std::string kept = key;  // all that can be refused comes before the first change: both keep the same keys
  order_.reserve(order_.size() + 1);
  plans_.emplace(key, plan);
  order_.push_back(std::move(kept));
  return plan;
}

void StageRunner::release(std::string_view stage) {
  const auto found = packed_.find(stage);
  if (found != packed_.end()) packed_.erase(found);
}

// Those of an executor that runs now (previews are made while a picture is sampled) would not be freed.
void StageRunner::release_others(const std::string& stage) {
  for (auto& [other, forms] : packed_) {
    if (other != stage) std::erase_if(forms, [](const std::shared_ptr<Buffer>& form) { return form.use_count() == 1; });
  }
}

// Packing is cheaper than memory that the system has not got. A stage whose weights are held only takes its arena.
void StageRunner::make_room(const std::string& key, const ExecutionPlan& plan) {
  const std::string stage = stage_of(key);
  const int64_t free = engine_.allocator()->free_bytes();
  const auto held = packed_.find(stage);
  if (free < 0 || packed_.size() - (held != packed_.end() ? 1 : 0) == 0) return;
  int64_t needs = 0;
  for (size_t d = 0; d < plan.devices.size() && d < plan.arenas.size(); ++d) {
    if (in_host_memory(*plan.devices[d])) needs += plan.arenas[d].bytes;
  }
  for (const PlanPacked& form : plan.packed) {
    const bool anew = held == packed_.end() || held->second.empty();
    if (anew && in_host_memory(*plan.devices[static_cast<size_t>(form.device)])) needs += form.bytes;
  }
  if (needs + needs / kSpare <= free) return;
  engine_.log()(LogLevel::info, LogCategory::pipeline,
                "{}: it takes {:.0f} MiB and {:.0f} are free: packed weights of other stages are given up", key,
                static_cast<double>(needs) / 0x1p20, static_cast<double>(free) / 0x1p20);
  release_others(stage);
}

Result<std::unique_ptr<Executor>> StageRunner::executor(const std::string& key, const BuildGraph& build,
                                                        const RunOptions& options) {
  CHIARO_ASSIGN(auto ready, plan(key, build));
  note_moved(key, *ready);
  make_room(key, *ready);
  auto made = Executor::create(engine_, ready, options);
  if (!made.ok() && made.error().code == ErrorCode::out_of_memory && !packed_.empty()) {
    engine_.log()(LogLevel::notice, LogCategory::pipeline, "{}: {}; packed weights of other stages are given up", key,
                  made.error().what);
    packed_.clear();
    made = Executor::create(engine_, std::move(ready), options);
  }
  if (made.ok()) packed_[stage_of(key)].insert((*made)->packed_weights().begin(), (*made)->packed_weights().end());
  return made;
}

std::string StageRunner::over_budget(const ExecutionPlan& plan) {
  for (size_t d = 0; d < plan.devices.size(); ++d) {
    const int64_t budget = plan.devices[d]->budget_bytes();
    int64_t bytes = d < plan.arenas.size() ? plan.arenas[d].bytes : 0;
    for (const PlanStaged& staged : plan.staged) {
      if (static_cast<size_t>(staged.device) != d) continue;
      const auto index = static_cast<size_t>(staged.index);
      if (staged.region == Region::input) {
        bytes += plan.inputs[index].desc.dense_bytes();
      } else if (plan.weights[index]) {
        bytes += plan.weights[index]->desc.dense_bytes();
      }
    }
    for (const PlanPacked& packed : plan.packed) bytes += static_cast<size_t>(packed.device) == d ? packed.bytes : 0;
    if (budget < 0 || bytes <= budget) continue;
    return fmt::format("{:.1f} MiB on {}, which may hold {:.1f}", static_cast<double>(bytes) / 0x1p20,
                       plan.devices[d]->traits().name, static_cast<double>(budget) / 0x1p20);
  }
  return {};
}

// Once per stage, whatever its plans differ in.
void StageRunner::note_moved(const std::string& key, const ExecutionPlan& plan) {
  const std::string stage = stage_of(key) + ": ";
  for (const std::string& told : moved_) {
    if (told.starts_with(stage)) return;
  }
  const std::string sentence = moved_sentence(plan, key.starts_with("sampling step") ? "step" : "run");
  if (!sentence.empty()) moved_.push_back(stage + sentence);
}

Status check_finite(std::span<const float> values, std::string_view stage, std::string_view what) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return Error{
        ErrorCode::non_finite, fmt::format("{} gave {} that are not finite", stage, what),
        fmt::format("element {} of {} is {}", i, values.size(), values[i]),
        "the weights may be damaged or need a wider type: try --precision f32, and `chiaro inspect` on the model",
        std::string(stage)};
  }
  return {};
}

}  // namespace chiaro
