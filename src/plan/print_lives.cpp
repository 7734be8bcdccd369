// From when to when each storage of a plan, or a copy of it, is live in an arena.
#include <algorithm>

#include "plan/print.h"

namespace chiaro {
namespace {

class Lives {
 public:
  explicit Lives(const ExecutionPlan& plan) : plan_(plan), of_storage_(plan.graph.storages().size()) {}

  std::vector<StorageLife> run() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const PlanStep& step = plan_.steps[i];
      now_ = static_cast<int32_t>(i);
      if (step.copy >= 0) {
        copy(plan_.copies[static_cast<size_t>(step.copy)]);
      } else {
        kernel(step);
      }
    }
    now_ = static_cast<int32_t>(plan_.steps.size());
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      touch(plan_.graph.outputs()[i].value, plan_.outputs[i].memory);
    }
    return std::move(lives_);
  }

 private:
  // The newest life of the value's storage at this place; nullptr where there is none (a broken plan).
  StorageLife* find(Value v, const MemRef& ref) {
    if (!v.valid() || ref.region != Region::arena) return nullptr;
    const auto& own = of_storage_[static_cast<size_t>(plan_.graph.info(v).storage)];
    for (auto at = own.rbegin(); at != own.rend(); ++at) {
      StorageLife& life = lives_[*at];
      const bool empty = life.bytes == 0 && ref.offset == life.offset;
      const bool inside = ref.offset >= life.offset && ref.offset < life.offset + life.bytes;
      if (life.device == ref.device && (empty || inside)) return &life;
    }
    return nullptr;
  }

  void touch(Value v, const MemRef& ref) {
    if (StorageLife* life = find(v, ref)) life->last = now_;
  }

  void write(StorageLife& life) {
    life.last = now_;
    life.writes.push_back(now_);
  }

  void make(Value v, const MemRef& start, int64_t bytes, bool image) {
    const int32_t storage = plan_.graph.info(v).storage;
    of_storage_[static_cast<size_t>(storage)].push_back(lives_.size());
    lives_.push_back({start.device, storage, start.offset, bytes, now_, now_, image, {}});
  }

  void copy(const PlanCopy& copy) {
    touch(copy.value, copy.from);
    if (copy.to.region != Region::arena) return;
    if (StorageLife* life = copy.back ? find(copy.value, copy.to) : nullptr) return write(*life);
    make(copy.value, copy.to, copy.end - copy.begin, true);
  }

  void kernel(const PlanStep& step) {
    const Node& node = plan_.graph.nodes()[static_cast<size_t>(step.node)];
    for (size_t i = 0; i < node.inputs.size() && i < step.inputs.size(); ++i) touch(node.inputs[i], step.inputs[i]);
    const ValueInfo& out = plan_.graph.info(node.output);
    if (out.version > 0 || node.op->kind == OpKind::inplace) {
      if (StorageLife* life = find(node.output, step.output)) write(*life);
      return;
    }
    MemRef start = step.output;
    start.offset -= out.offset_bytes;
    if (start.region == Region::arena) make(node.output, start, plan_.graph.storage(out.storage).bytes, false);
  }

  const ExecutionPlan& plan_;
  std::vector<StorageLife> lives_;
  std::vector<std::vector<size_t>> of_storage_;  // lives, oldest first
  int32_t now_ = 0;
};

}  // namespace

std::vector<StorageLife> storage_lives(const ExecutionPlan& plan) {
  return Lives(plan).run();
}

}  // namespace chiaro
