#include "runtime/executor_ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace chiaro {
namespace {

const Binding* find_binding(std::span<const Binding> bindings, std::string_view name) {
  const auto found =
      std::find_if(bindings.begin(), bindings.end(), [&](const Binding& binding) { return binding.name == name; });
  return found == bindings.end() ? nullptr : &*found;
}

Status check_ports(std::span<const PlanPort> ports, std::span<const Binding> bindings) {
  for (const PlanPort& port : ports) {
    const Binding* binding = find_binding(bindings, port.name);
    if (binding == nullptr) {
      return Error{ErrorCode::usage, fmt::format("\"{}\" is not bound", port.name), port.desc.text(), "", ""};
    }
    if (binding->bytes != port.desc.dense_bytes()) {
      return Error{ErrorCode::usage, fmt::format("binding \"{}\" has the wrong size", port.name),
                   fmt::format("{} bytes for {}", binding->bytes, port.desc.text()), "", ""};
    }
  }
  return {};
}

// The elements of a view, whose first lies at `from`, one after the other.
void gather(const TensorDesc& desc, const std::byte* from, std::byte* to) {
  if (desc.contiguous()) {
    if (desc.dense_bytes() > 0) std::memcpy(to, from, static_cast<size_t>(desc.dense_bytes()));
    return;
  }
  const auto unit = static_cast<size_t>(unit_bytes(desc.dtype));
  for_each_element(desc, [&](int64_t i, int64_t offset) {
    std::memcpy(to + static_cast<size_t>(i) * unit, from + static_cast<size_t>(offset) * unit, unit);
  });
}

bool on_device(const PlanPort& port) {
  return port.memory.region == Region::arena || port.memory.region == Region::input;
}

}  // namespace

Result<ExecutorPorts> ExecutorPorts::make(const ExecutionPlan& plan, std::span<Device* const> devices,
                                          const std::shared_ptr<Allocator>& allocator) {
  int64_t most = 0;
  for (const PlanPort& port : plan.outputs) {
    if (on_device(port) && (port.memory.device < 0 || static_cast<size_t>(port.memory.device) >= devices.size())) {
      return Error{ErrorCode::internal, "output \"" + port.name + "\" lies on no device of the plan", "", "", ""};
    }
    const bool direct =
        port.desc.contiguous() || !on_device(port) || in_host_memory(*devices[static_cast<size_t>(port.memory.device)]);
    if (!direct) most = std::max(most, port.desc.span_bytes());
  }
  ExecutorPorts ports;
  CHIARO_ASSIGN(ports.gathered_, Block::make(allocator, static_cast<size_t>(most), "outputs on their way to the host"));
  return ports;
}

Status ExecutorPorts::check(const ExecutionPlan& plan, std::span<const Binding> inputs,
                            std::span<const Binding> outputs) {
  CHIARO_TRY(check_ports(plan.inputs, inputs));
  return check_ports(plan.outputs, outputs);
}

Status ExecutorPorts::load(const ExecutionPlan& plan, std::span<Device* const> devices, const ExecutorMemory& memory,
                           std::span<const Binding> inputs, RunReport& report) const {
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const Binding& binding = *find_binding(inputs, plan.inputs[i].name);
    for (size_t d = 0; d < devices.size(); ++d) {
      Buffer* buffer = memory.input(static_cast<int32_t>(d), static_cast<int32_t>(i));
      if (buffer == nullptr) continue;
      CHIARO_TRY(devices[d]->upload(*buffer, 0, {binding.data, static_cast<size_t>(binding.bytes)}));
      report.input_bytes += binding.bytes;
    }
  }
  return {};
}

Status ExecutorPorts::store(const ExecutionPlan& plan, std::span<Device* const> devices, const ExecutorMemory& memory,
                            std::span<const Binding> inputs, std::span<const Binding> outputs, RunReport& report) {
  for (const PlanPort& port : plan.outputs) {
    const Binding& binding = *find_binding(outputs, port.name);
    const MemRef& place = port.memory;
    report.output_bytes += binding.bytes;
    if (place.region == Region::weight) {  // staged or not, the file has the same bytes
      gather(port.desc, plan.weights[static_cast<size_t>(place.index)]->bytes + place.offset, binding.data);
      continue;
    }
    if (place.region == Region::input && memory.input(place.device, place.index) == nullptr) {
      const PlanPort& input = plan.inputs[static_cast<size_t>(place.index)];
      gather(port.desc, find_binding(inputs, input.name)->data + place.offset, binding.data);
      continue;
    }
    CHIARO_ASSIGN(const BufferRef from, memory.resolve(place));
    if (!from) return Error{ErrorCode::internal, "output \"" + port.name + "\" has no place in the plan", "", "", ""};
    Device& device = *devices[static_cast<size_t>(place.device)];
    if (port.desc.contiguous()) {
      CHIARO_TRY(device.download({binding.data, static_cast<size_t>(binding.bytes)}, *from.buffer, from.offset));
    } else if (in_host_memory(device)) {
      gather(port.desc, from.address(), binding.data);
    } else {
      const auto bytes = static_cast<size_t>(port.desc.span_bytes());
      CHIARO_TRY(device.download({gathered_.data(), bytes}, *from.buffer, from.offset));
      gather(port.desc, gathered_.data(), binding.data);
    }
  }
  return {};
}

}  // namespace chiaro
