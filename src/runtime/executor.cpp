#include "runtime/executor.h"

#include <fmt/format.h>

#include <cstring>

namespace chiaro {
namespace {

Result<const Binding*> find_binding(std::span<const Binding> bindings, const PlanPort& port) {
  for (const Binding& binding : bindings) {
    if (binding.name != port.name) continue;
    if (binding.bytes != port.desc.dense_bytes()) {
      return Error{ErrorCode::usage, fmt::format("binding \"{}\" has the wrong size", port.name),
                   fmt::format("{} bytes for {}", binding.bytes, port.desc.text()), "", ""};
    }
    return &binding;
  }
  return Error{ErrorCode::usage, fmt::format("\"{}\" is not bound", port.name), port.desc.text(), "", ""};
}

}  // namespace

Result<std::unique_ptr<Executor>> Executor::create(Engine& engine, std::shared_ptr<const ExecutionPlan> plan) {
  const std::string& name = plan->devices.front()->traits().name;
  Device* device = engine.device(name);
  if (device == nullptr) {
    return Error{ErrorCode::usage, "the plan is for device \"" + name + "\"", "this engine has none of that name",
                 "run a plan on the engine it was made for", ""};
  }
  std::unique_ptr<Executor> executor(new Executor(*device, std::move(plan)));
  CHIARO_ASSIGN(executor->arena_, device->allocate(executor->plan_->arena_bytes, "the arena of a plan"));
  for (const PlanPort& port : executor->plan_->inputs) {
    CHIARO_ASSIGN(auto buffer, device->allocate(port.desc.dense_bytes(), port.name));
    executor->inputs_.push_back(std::move(buffer));
  }
  CHIARO_TRY(executor->stage_weights());
  CHIARO_TRY(executor->compile());
  return executor;
}

// A device that addresses host memory reads weights where they lie, often in a mapped file; only one that starts
// between two elements' natural addresses is copied. Any other device gets them all.
Status Executor::stage_weights() {
  for (const TensorDataPtr& weight : plan_->weights) {
    if (!weight) return Error{ErrorCode::unsupported, "a graph without weights cannot run", "", "", ""};
    const auto unit = static_cast<uintptr_t>(is_block(weight->desc.dtype) ? 2 : unit_bytes(weight->desc.dtype));
    if (device_.traits().addresses_host && reinterpret_cast<uintptr_t>(weight->bytes) % unit == 0) {
      weights_.push_back(weight->bytes);
      continue;
    }
    const int64_t bytes = weight->desc.dense_bytes();
    CHIARO_ASSIGN(auto buffer, device_.allocate(bytes, weight->name));
    CHIARO_TRY(device_.upload(*buffer, 0, {weight->bytes, static_cast<size_t>(bytes)}));
    weights_.push_back(buffer->address());
    staged_.push_back(std::move(buffer));
  }
  return {};
}

const std::byte* Executor::address(const MemRef& ref) const {
  switch (ref.region) {
    case Region::none: return nullptr;
    case Region::arena: return arena_->address() + ref.offset;
    case Region::input: return inputs_[static_cast<size_t>(ref.index)]->address() + ref.offset;
    case Region::weight: return weights_[static_cast<size_t>(ref.index)] + ref.offset;
  }
  return nullptr;
}

Status Executor::compile() {
  std::vector<Launch> launches;
  launches.reserve(plan_->steps.size());
  for (const PlanStep& step : plan_->steps) {
    const Node& node = plan_->graph.nodes()[static_cast<size_t>(step.node)];
    Launch launch;
    launch.plan = &step.kernel;
    for (const MemRef& in : step.inputs) launch.inputs.push_back(address(in));
    launch.output = const_cast<std::byte*>(address(step.output));  // never a weight or an input: checked by `versions`
    launch.scratch = step.kernel.scratch_bytes() > 0 ? arena_->address() + step.scratch_offset : nullptr;
    launch.label = node.label;
    launch.op = node.op->name;
    launches.push_back(std::move(launch));
  }
  CHIARO_ASSIGN(segment_, device_.compile(std::move(launches)));
  return {};
}

Status Executor::load_inputs(std::span<const Binding> inputs) {
  for (size_t i = 0; i < plan_->inputs.size(); ++i) {
    CHIARO_ASSIGN(const Binding* binding, find_binding(inputs, plan_->inputs[i]));
    CHIARO_TRY(device_.upload(*inputs_[i], 0, {binding->data, static_cast<size_t>(binding->bytes)}));
  }
  return {};
}

// The bytes of an output's view, first to last element, brought to the host.
Result<std::vector<std::byte>> Executor::fetch(const PlanPort& port) const {
  std::vector<std::byte> bytes(static_cast<size_t>(port.desc.span_bytes()));
  const MemRef& ref = port.memory;
  if (ref.region == Region::weight) {  // staged or not, the file has the same bytes
    std::memcpy(bytes.data(), plan_->weights[static_cast<size_t>(ref.index)]->bytes + ref.offset, bytes.size());
    return bytes;
  }
  const Buffer& from = ref.region == Region::input ? *inputs_[static_cast<size_t>(ref.index)] : *arena_;
  CHIARO_TRY(device_.download(bytes, from, ref.offset));
  return bytes;
}

Status Executor::store_outputs(std::span<const Binding> outputs) {
  for (const PlanPort& port : plan_->outputs) {
    CHIARO_ASSIGN(const Binding* binding, find_binding(outputs, port));
    if (port.desc.contiguous() && port.memory.region == Region::arena) {
      CHIARO_TRY(device_.download({binding->data, static_cast<size_t>(binding->bytes)}, *arena_, port.memory.offset));
      continue;
    }
    CHIARO_ASSIGN(const std::vector<std::byte> bytes, fetch(port));
    const auto unit = static_cast<size_t>(unit_bytes(port.desc.dtype));
    for_each_element(port.desc, [&](int64_t i, int64_t offset) {
      std::memcpy(binding->data + static_cast<size_t>(i) * unit, bytes.data() + static_cast<size_t>(offset) * unit,
                  unit);
    });
  }
  return {};
}

Status Executor::run(std::span<const Binding> inputs, std::span<const Binding> outputs, const RunOptions& options) {
  CHIARO_TRY(load_inputs(inputs));
  LaunchTimer timer;
  if (options.on_step) {
    timer = [&](size_t launch, double seconds) {
      const PlanStep& step = plan_->steps[launch];
      const Node& node = plan_->graph.nodes()[static_cast<size_t>(step.node)];
      options.on_step({node.op->name, node.label, step.kernel.kernel(), seconds});
    };
  }
  CHIARO_TRY(device_.submit(*segment_, options.cancel, timer));
  CHIARO_TRY(device_.wait(*segment_));
  return store_outputs(outputs);
}

}  // namespace chiaro
