#include "guarded_run.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace chiaro::testing {
namespace {

constexpr std::byte kPoison{0xFF};  // a NaN in f32

// A block with kGuardBytes of poison on both sides.
class Guarded {
 public:
  explicit Guarded(int64_t bytes) : bytes_(bytes), memory_(static_cast<size_t>(bytes + 2 * kGuardBytes + 64), kPoison) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    start_ = memory_.data() + (64 - address % 64) % 64 + kGuardBytes;
  }
  std::byte* data() { return start_; }
  // Whether all bytes outside [0, bytes) are as they were.
  bool guards_whole(int64_t bytes) const {
    const auto poison = [](std::byte b) { return b == kPoison; };
    return std::all_of(memory_.data(), static_cast<const std::byte*>(start_), poison) &&
           std::all_of(static_cast<const std::byte*>(start_) + bytes, memory_.data() + memory_.size(), poison);
  }
  void fill(const void* from) {
    if (bytes_ > 0) std::memcpy(start_, from, static_cast<size_t>(bytes_));
  }
  bool holds(const void* what) const {
    return guards_whole(bytes_) && (bytes_ == 0 || std::memcmp(start_, what, static_cast<size_t>(bytes_)) == 0);
  }

 private:
  int64_t bytes_;
  std::vector<std::byte> memory_;
  std::byte* start_;
};

struct Memory {
  Guarded arena;
  std::vector<Guarded> inputs, weights;

  std::byte* at(const MemRef& ref) {
    switch (ref.region) {
      case Region::none: return nullptr;
      case Region::arena: return arena.data() + ref.offset;
      case Region::input: return inputs[static_cast<size_t>(ref.index)].data() + ref.offset;
      case Region::weight: return weights[static_cast<size_t>(ref.index)].data() + ref.offset;
    }
    return nullptr;
  }
};

std::vector<std::byte> gather(const TensorDesc& desc, const std::byte* from) {
  const int64_t unit = unit_bytes(desc.dtype);
  std::vector<std::byte> out(static_cast<size_t>(desc.dense_bytes()));
  for_each_element(desc, [&](int64_t i, int64_t offset) {
    std::memcpy(out.data() + i * unit, from + offset * unit, static_cast<size_t>(unit));
  });
  return out;
}

}  // namespace

GuardedRun guarded_run(Device& device, const ExecutionPlan& plan, int64_t arena_bytes,
                       const std::vector<std::vector<float>>& inputs) {
  Memory memory{Guarded(arena_bytes), {}, {}};
  for (const auto& values : inputs) {
    memory.inputs.emplace_back(static_cast<int64_t>(values.size() * sizeof(float))).fill(values.data());
  }
  for (const TensorDataPtr& weight : plan.weights) {
    memory.weights.emplace_back(weight->desc.dense_bytes()).fill(weight->bytes);
  }
  std::vector<Launch> launches;
  for (const PlanStep& step : plan.steps) {
    Launch launch;
    launch.plan = &step.kernel;
    for (const MemRef& ref : step.inputs) launch.inputs.push_back(memory.at(ref));
    launch.output = memory.at(step.output);
    launch.scratch = memory.arena.data() + step.scratch_offset;
    launches.push_back(std::move(launch));
  }
  auto segment = device.compile(std::move(launches)).value();
  const bool done = device.submit(*segment, nullptr, {}).ok() && device.wait(*segment).ok();
  if (!done) throw std::runtime_error("a kernel failed");
  GuardedRun run;
  run.stayed = memory.arena.guards_whole(std::max<int64_t>(plan.arena_bytes, 0));
  for (size_t i = 0; i < inputs.size(); ++i) run.stayed = run.stayed && memory.inputs[i].holds(inputs[i].data());
  for (size_t i = 0; i < plan.weights.size(); ++i) {
    run.stayed = run.stayed && memory.weights[i].holds(plan.weights[i]->bytes);
  }
  for (const PlanPort& port : plan.outputs) run.outputs.push_back(gather(port.desc, memory.at(port.memory)));
  return run;
}

bool may_run(const ExecutionPlan& plan, int64_t arena_bytes) {
  const auto inside = [&](const MemRef& ref, int64_t bytes) {
    int64_t size = arena_bytes;
    if (ref.region == Region::none) return false;
    if (ref.region == Region::input) size = plan.inputs[static_cast<size_t>(ref.index)].desc.dense_bytes();
    if (ref.region == Region::weight) size = plan.weights[static_cast<size_t>(ref.index)]->desc.dense_bytes();
    return ref.offset >= -kGuardBytes && ref.offset + bytes <= size + kGuardBytes;
  };
  for (const PlanStep& step : plan.steps) {
    const Node& node = plan.graph.nodes()[static_cast<size_t>(step.node)];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value v = node.inputs[i];
      if (v.valid() && !inside(step.inputs[i], plan.graph.info(v).desc.span_bytes())) return false;
    }
    if (!inside(step.output, plan.graph.info(node.output).desc.span_bytes())) return false;
    if (!inside({Region::arena, 0, step.scratch_offset}, step.kernel.scratch_bytes())) return false;
  }
  return std::all_of(plan.outputs.begin(), plan.outputs.end(),
                     [&](const PlanPort& port) { return inside(port.memory, port.desc.span_bytes()); });
}

}  // namespace chiaro::testing
