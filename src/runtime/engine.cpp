#include "runtime/engine.h"

#include <algorithm>

#include "backend/cpu/cpu_device.h"
#include "backend/isolated/isolated_device.h"
#include "ops/catalogue.h"

namespace chiaro {
namespace {

Error no_such(const std::string& entry, const std::string& kind, const std::string& name, const std::string& mend) {
  return {ErrorCode::usage, "--disable-op " + entry + ": there is no " + kind + " \"" + name + "\"", "", mend, ""};
}

struct DisabledOp {
  std::string op, device;  // device empty: on all
};

DisabledOp split(const std::string& entry) {
  const size_t at = entry.find('@');
  return {entry.substr(0, at), at == std::string::npos ? std::string() : entry.substr(at + 1)};
}

// Every entry, "OP" or "OP@DEVICE", names what there is.
Status check_disabled(const std::vector<std::string>& entries, const std::vector<std::string>& devices) {
  for (const std::string& entry : entries) {
    const DisabledOp parts = split(entry);
    if (find_op(parts.op) == nullptr) return no_such(entry, "op", parts.op, "`chiaro ops list` shows the names");
    if (entry.find('@') != std::string::npos &&
        std::find(devices.begin(), devices.end(), parts.device) == devices.end()) {
      return no_such(entry, "device", parts.device, "`chiaro devices` shows the names");
    }
  }
  return {};
}

std::vector<std::string> disabled_on(const std::vector<std::string>& entries, const std::string& device) {
  std::vector<std::string> ops;
  for (const std::string& entry : entries) {
    const DisabledOp parts = split(entry);
    if (parts.device.empty() || parts.device == device) ops.push_back(parts.op);
  }
  return ops;
}

Result<std::unique_ptr<Device>> make_device(Engine& engine, const EngineOptions& options, const std::string& name) {
  if (name == "cpu") {
    CpuDeviceOptions cpu;
    cpu.allocator = engine.allocator();
    cpu.pool = &engine.pool();
    cpu.disabled_ops = disabled_on(options.disabled_ops, name);
    if (options.cpu_kernels) cpu.kernels = *options.cpu_kernels;
    return make_cpu_device(std::move(cpu));
  }
  constexpr std::string_view kIsolated = "isolated:";
  if (name.starts_with(kIsolated) && name.size() > kIsolated.size()) {
    return make_isolated_device(
        {name, &engine.pool(), options.isolated_budget, disabled_on(options.disabled_ops, name)});
  }
  return Error{ErrorCode::usage, "there is no device \"" + name + "\"", "", "use cpu, or isolated:NAME for tests", ""};
}

}  // namespace

Result<std::shared_ptr<Engine>> Engine::create(EngineOptions options) {
  std::shared_ptr<Engine> engine(new Engine());
  engine->log_ = options.log ? std::move(options.log) : Log::silent();
  engine->allocator_ = options.allocator ? std::move(options.allocator) : std::make_shared<SystemAllocator>();
  engine->pool_ = std::make_unique<ThreadPool>(options.threads);
  std::vector<std::string> names = options.devices;
  if (std::find(names.begin(), names.end(), "cpu") == names.end()) names.emplace_back("cpu");
  CHIARO_TRY(check_disabled(options.disabled_ops, names));
  for (const std::string& name : names) {
    CHIARO_ASSIGN(auto device, make_device(*engine, options, name));
    engine->owned_.push_back(std::move(device));
    engine->device_list_.push_back(engine->owned_.back().get());
  }
  return engine;
}

Device* Engine::device(std::string_view name) const {
  for (Device* d : device_list_) {
    if (d->traits().name == name) return d;
  }
  return nullptr;
}

}  // namespace chiaro
