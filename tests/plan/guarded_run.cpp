#include "guarded_run.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/thread_pool.h"

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

// A block of Memory as a launch names it.
class Place final : public Buffer {
 public:
  Place(const Device& owner, std::byte* address, int64_t bytes) : owner_(owner), address_(address), bytes_(bytes) {}
  const Device& owner() const override { return owner_; }
  int64_t bytes() const override { return bytes_; }
  std::byte* address() const override { return address_; }

 private:
  const Device& owner_;
  std::byte* address_;
  int64_t bytes_;
};

// Inputs and weights are there once for all devices: they are only read, or the run has not stayed.
struct Memory {
  Memory(const Device& owner, const ExecutionPlan& plan, const std::vector<int64_t>& arena_bytes,
         const std::vector<std::vector<float>>& values) {
    for (const int64_t bytes : arena_bytes) arenas.emplace_back(bytes);
    for (const auto& v : values) {
      inputs.emplace_back(static_cast<int64_t>(v.size() * sizeof(float))).fill(v.data());
    }
    for (const TensorDataPtr& weight : plan.weights) {
      weights.emplace_back(weight->desc.dense_bytes()).fill(weight->bytes);
    }
    for (const PlanPacked& form : plan.packed) packed.emplace_back(form.bytes).fill(pack(plan, form).data());
    const std::pair<Region, std::vector<Guarded>*> regions[] = {
        {Region::arena, &arenas}, {Region::input, &inputs}, {Region::weight, &weights}, {Region::packed, &packed}};
    for (const auto& [region, blocks] : regions) {
      for (Guarded& block : *blocks) places[region].push_back(std::make_unique<Place>(owner, block.data(), 0));
    }
  }

  BufferRef at(const MemRef& ref) {
    if (ref.region == Region::none) return {};
    const auto which = static_cast<size_t>(ref.region == Region::arena ? ref.device : ref.index);
    return {places[ref.region][which].get(), ref.offset};
  }

  // By any kernel that asks for the form.
  static std::vector<std::byte> pack(const ExecutionPlan& plan, const PlanPacked& form) {
    std::vector<std::byte> bytes(static_cast<size_t>(form.bytes));
    ThreadPool pool(1);
    for (const PlanStep& step : plan.steps) {
      const PackedInput& wants = step.kernel.packed();
      if (wants.input < 0 || wants.layout != form.layout || wants.bytes != form.bytes) continue;
      const MemRef& ref = step.inputs[static_cast<size_t>(wants.input)];
      if (ref.region != Region::packed || ref.index < 0 || static_cast<size_t>(ref.index) >= plan.packed.size())
        continue;
      if (plan.packed[static_cast<size_t>(ref.index)] != form) continue;
      const std::byte* source = plan.weights[static_cast<size_t>(form.weight)]->bytes + form.offset;
      if (!step.kernel.pack(source, bytes.data(), pool, nullptr).ok())
        throw std::runtime_error("a weight is not packed");
      break;
    }
    return bytes;
  }

  std::vector<Guarded> arenas, inputs, weights, packed;
  std::map<Region, std::vector<std::unique_ptr<Buffer>>> places;
};

void run_launches(Device& device, std::vector<Launch>& launches) {
  auto segment = device.compile(std::exchange(launches, {})).value();
  const bool done = device.submit(*segment, nullptr, {}).ok() && device.wait(*segment).ok();
  if (!done) throw std::runtime_error("a kernel failed");
}

void run_steps(Device& device, const ExecutionPlan& plan, Memory& memory) {
  std::vector<Launch> launches;
  for (const PlanStep& step : plan.steps) {
    if (step.copy >= 0) {
      run_launches(device, launches);
      const PlanCopy& copy = plan.copies[static_cast<size_t>(step.copy)];
      std::memmove(memory.at(copy.to).address(), memory.at(copy.from).address(),
                   static_cast<size_t>(copy.end - copy.begin));
      continue;
    }
    Launch launch;
    launch.plan = &step.kernel;
    launch.op = plan.graph.nodes()[static_cast<size_t>(step.node)].op;
    for (const MemRef& ref : step.inputs) launch.inputs.push_back(memory.at(ref));
    launch.output = memory.at(step.output);
    launch.scratch = memory.at({Region::arena, step.device, 0, step.scratch_offset});
    launches.push_back(std::move(launch));
  }
  run_launches(device, launches);
}

std::vector<std::byte> gather(const TensorDesc& desc, const std::byte* from) {
  const int64_t unit = unit_bytes(desc.dtype);
  std::vector<std::byte> out(static_cast<size_t>(desc.dense_bytes()));
  for_each_element(desc, [&](int64_t i, int64_t offset) {
    std::memcpy(out.data() + i * unit, from + offset * unit, static_cast<size_t>(unit));
  });
  return out;
}

}  // namespace

GuardedRun guarded_run(Device& device, const ExecutionPlan& plan, const std::vector<int64_t>& arena_bytes,
                       const std::vector<std::vector<float>>& inputs) {
  Memory memory(device, plan, arena_bytes, inputs);
  run_steps(device, plan, memory);
  GuardedRun run;
  for (size_t d = 0; d < plan.arenas.size(); ++d) {
    run.stayed = run.stayed && memory.arenas[d].guards_whole(std::max<int64_t>(plan.arenas[d].bytes, 0));
  }
  for (size_t i = 0; i < inputs.size(); ++i) run.stayed = run.stayed && memory.inputs[i].holds(inputs[i].data());
  for (size_t i = 0; i < plan.weights.size(); ++i) {
    run.stayed = run.stayed && memory.weights[i].holds(plan.weights[i]->bytes);
  }
  for (const PlanPort& port : plan.outputs) run.outputs.push_back(gather(port.desc, memory.at(port.memory).address()));
  return run;
}

bool may_run(const ExecutionPlan& plan, const std::vector<int64_t>& arena_bytes) {
  const auto inside = [&](const MemRef& ref, int64_t bytes) {
    int64_t size = 0;
    if (ref.region == Region::none) return false;
    if (ref.region == Region::arena) size = arena_bytes[static_cast<size_t>(ref.device)];
    if (ref.region == Region::input) size = plan.inputs[static_cast<size_t>(ref.index)].desc.dense_bytes();
    if (ref.region == Region::weight) size = plan.weights[static_cast<size_t>(ref.index)]->desc.dense_bytes();
    if (ref.region == Region::packed) size = plan.packed[static_cast<size_t>(ref.index)].bytes;
    return ref.offset >= -kGuardBytes && ref.offset + bytes <= size + kGuardBytes;
  };
  for (const PlanStep& step : plan.steps) {
    if (step.copy >= 0) {
      const PlanCopy& copy = plan.copies[static_cast<size_t>(step.copy)];
      if (!inside(copy.from, copy.end - copy.begin) || !inside(copy.to, copy.end - copy.begin)) return false;
      continue;
    }
    const Node& node = plan.graph.nodes()[static_cast<size_t>(step.node)];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Value v = node.inputs[i];
      if (!v.valid()) continue;
      const PackedInput& packed = step.kernel.packed();
      const bool form = packed.input == static_cast<int>(i);
      if (!inside(step.inputs[i], form ? packed.bytes : plan.graph.info(v).desc.span_bytes())) return false;
    }
    if (!inside(step.output, plan.graph.info(node.output).desc.span_bytes())) return false;
    if (!inside({Region::arena, step.device, 0, step.scratch_offset}, step.kernel.scratch_bytes())) return false;
  }
  return std::all_of(plan.outputs.begin(), plan.outputs.end(),
                     [&](const PlanPort& port) { return inside(port.memory, port.desc.span_bytes()); });
}

std::vector<int64_t> arena_sizes(const ExecutionPlan& plan) {
  std::vector<int64_t> sizes;
  for (const PlanArena& arena : plan.arenas) sizes.push_back(arena.bytes);
  return sizes;
}

}  // namespace chiaro::testing
