#include "runtime/executor_memory.h"

#include <fmt/format.h>

namespace chiaro {
namespace {

Error not_staged(std::string_view what, const MemRef& ref) {
  return {ErrorCode::internal, fmt::format("a step of the plan uses {} {} on device {}", what, ref.index, ref.device),
          "the plan does not bring it there", "", ""};
}

// Whether a kernel may load elements of `weight` from where it lies: files may start a tensor anywhere.
bool aligned(const TensorData& weight) {
  const auto unit = static_cast<uintptr_t>(is_block(weight.desc.dtype) ? 2 : unit_bytes(weight.desc.dtype));
  return reinterpret_cast<uintptr_t>(weight.bytes) % unit == 0;
}

Result<std::unique_ptr<Buffer>> bring_weight(Device& device, const TensorData& weight) {
  const std::span<const std::byte> bytes(weight.bytes, static_cast<size_t>(weight.desc.dense_bytes()));
  if (device.traits().addresses_host && aligned(weight)) return device.wrap(bytes, weight.name);
  CHIARO_ASSIGN(auto buffer, device.allocate(weight.desc.dense_bytes(), weight.name));
  CHIARO_TRY(device.upload(*buffer, 0, bytes));
  return buffer;
}

}  // namespace

bool in_host_memory(const Device& device) {
  return device.traits().kind == "cpu";
}

Buffer* ExecutorMemory::find(const Table& table, int32_t device, int32_t index) {
  const auto d = static_cast<size_t>(device), i = static_cast<size_t>(index);
  return device >= 0 && d < table.size() && index >= 0 && i < table[d].size() ? table[d][i] : nullptr;
}

// The input's buffer, if it is large enough; the weight's on that device, if it is of the same tensor. Null otherwise.
std::unique_ptr<Buffer> ExecutorMemory::take_input(const PlanStaged& what, int64_t bytes) {
  for (Staged& had : staged_) {
    if (had.what == what && had.buffer && had.buffer->bytes() >= bytes) return std::move(had.buffer);
  }
  return nullptr;
}

std::unique_ptr<Buffer> ExecutorMemory::take_weight(const PlanStaged& what, const TensorDataPtr& weight) {
  for (Staged& had : staged_) {
    if (had.weight == weight && had.what.device == what.device && had.buffer) return std::move(had.buffer);
  }
  return nullptr;
}

Status ExecutorMemory::stage(const ExecutionPlan& plan, Device& device, const PlanStaged& what, ExecutorMemory& old) {
  const bool input = what.region == Region::input;
  Table& table = input ? inputs_ : weights_;
  if (find(table, what.device, what.index) != nullptr) return {};
  Staged staged{what, nullptr, nullptr};
  if (input && what.index >= 0 && static_cast<size_t>(what.index) < plan.inputs.size()) {
    const PlanPort& port = plan.inputs[static_cast<size_t>(what.index)];
    staged.buffer = old.take_input(what, port.desc.dense_bytes());
    if (!staged.buffer) {
      CHIARO_ASSIGN(staged.buffer, device.allocate(port.desc.dense_bytes(), port.name));
    }
  } else if (!input && what.index >= 0 && static_cast<size_t>(what.index) < plan.weights.size()) {
    staged.weight = plan.weights[static_cast<size_t>(what.index)];
    if (!staged.weight) return Error{ErrorCode::unsupported, "a graph without weights cannot run", "", "", ""};
    staged.buffer = old.take_weight(what, staged.weight);
    if (!staged.buffer) {
      CHIARO_ASSIGN(staged.buffer, bring_weight(device, *staged.weight));
    }
  } else {
    return not_staged(input ? "input" : "weight", {what.region, what.device, what.index, 0});
  }
  table[static_cast<size_t>(what.device)][static_cast<size_t>(what.index)] = staged.buffer.get();
  staged_.push_back(std::move(staged));
  return {};
}

Status ExecutorMemory::stage_packed(const ExecutionPlan& plan, std::span<Device* const> devices, PackedWeights& packed,
                                    const PackingOptions& options) {
  packed.forget_dropped();
  packed_.resize(plan.packed.size());
  std::vector<bool> asked(packed_.size(), false);
  std::vector<PackedRequest> requests;
  std::vector<size_t> places;  // of ExecutionPlan::packed, by request
  for (const PlanStep& step : plan.steps) {
    const PackedInput& wants = step.kernel.packed();
    if (step.kernel.empty() || wants.input < 0) continue;
    const auto input = static_cast<size_t>(wants.input);
    const MemRef ref = input < step.inputs.size() ? step.inputs[input] : MemRef{};
    const auto index = static_cast<size_t>(ref.index);
    if (ref.region != Region::packed || ref.index < 0 || index >= packed_.size()) return not_staged("a weight", ref);
    if (asked[index]) continue;
    const PlanPacked& form = plan.packed[index];
    const auto weight = static_cast<size_t>(form.weight), device = static_cast<size_t>(form.device);
    if (form.weight < 0 || weight >= plan.weights.size() || form.device < 0 || device >= devices.size() ||
        form.bytes != wants.bytes || form.layout != wants.layout) {
      return not_staged("a packed form", ref);
    }
    asked[index] = true;
    requests.push_back({devices[device], plan.weights[weight], &form, &step.kernel});
    places.push_back(index);
  }
  CHIARO_ASSIGN(auto buffers, packed.get(requests, options));
  for (size_t i = 0; i < places.size(); ++i) packed_[places[i]] = std::move(buffers[i]);
  return {};
}

Result<ExecutorMemory> ExecutorMemory::make(const ExecutionPlan& plan, std::span<Device* const> devices,
                                            PackedWeights& packed, const PackingOptions& options, ExecutorMemory old) {
  ExecutorMemory memory;
  for (size_t d = 0; d < devices.size(); ++d) {
    const int64_t bytes = d < plan.arenas.size() ? plan.arenas[d].bytes : 0;
    if (d < old.arenas_.size() && old.arenas_[d]->bytes() >= bytes) {
      memory.arenas_.push_back(std::move(old.arenas_[d]));
      continue;
    }
    if (d < old.arenas_.size()) old.arenas_[d].reset();  // first, so that the peak is not that of both
    CHIARO_ASSIGN(auto arena, devices[d]->allocate(bytes, "the arena of a plan"));
    memory.arenas_.push_back(std::move(arena));
  }
  memory.inputs_.assign(devices.size(), std::vector<Buffer*>(plan.inputs.size(), nullptr));
  memory.weights_.assign(devices.size(), std::vector<Buffer*>(plan.weights.size(), nullptr));
  for (const PlanStaged& staged : plan.staged) {
    if (staged.device < 0 || static_cast<size_t>(staged.device) >= devices.size()) {
      return not_staged("an operand", {staged.region, staged.device, staged.index, 0});
    }
    CHIARO_TRY(memory.stage(plan, *devices[static_cast<size_t>(staged.device)], staged, old));
  }
  CHIARO_TRY(memory.stage_packed(plan, devices, packed, options));
  return memory;
}

Result<BufferRef> ExecutorMemory::resolve(const MemRef& ref) const {
  Buffer* buffer = nullptr;
  switch (ref.region) {
    case Region::none: return BufferRef{};
    case Region::arena:
      if (ref.device >= 0 && static_cast<size_t>(ref.device) < arenas_.size()) {
        buffer = arenas_[static_cast<size_t>(ref.device)].get();
      }
      if (buffer == nullptr) return not_staged("an arena", ref);
      break;
    case Region::input:
      buffer = find(inputs_, ref.device, ref.index);
      if (buffer == nullptr) return not_staged("input", ref);
      break;
    case Region::weight:
      buffer = find(weights_, ref.device, ref.index);
      if (buffer == nullptr) return not_staged("weight", ref);
      break;
    case Region::packed: {
      const auto index = static_cast<size_t>(ref.index);
      if (ref.index >= 0 && index < packed_.size()) buffer = packed_[index].get();
      if (buffer == nullptr) return not_staged("a packed weight", ref);
      break;
    }
  }
  return BufferRef{buffer, ref.offset};
}

}  // namespace chiaro
