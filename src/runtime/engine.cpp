#include "runtime/engine.h"

#include <algorithm>
#include <optional>

#include "backend/cpu/cpu_device.h"
#include "backend/isolated/isolated_device.h"
#include "backend/metal/metal_device.h"
#include "backend/softgpu/softgpu_device.h"
#include "ops/catalogue.h"
#include "ops/disabled_ops.h"
#include "ops/gpu_kernel.h"

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

std::vector<std::string> disabled_on(const std::vector<std::string>& entries, const std::string& device) {
  std::vector<std::string> ops;
  for (const std::string& entry : entries) {
    const DisabledOp parts = split(entry);
    if (parts.device.empty() || parts.device == device) ops.push_back(parts.op);
  }
  return ops;
}

// A device to make: "cpu", or a test device with its options.
struct Wanted {
  std::string name;
  std::optional<IsolatedSpec> isolated = {};
  std::optional<SoftGpuDeviceOptions> softgpu = {};
  std::optional<MetalDeviceOptions> metal = {};
  bool guarded = false;  // the CPU's memory: see CpuDeviceOptions
};

Result<Wanted> wanted_device(const std::string& text) {
  if (text == "cpu") return Wanted{text};
  if (text == "cpu,guard=on") return Wanted{"cpu", std::nullopt, std::nullopt, std::nullopt, true};
  if (text.starts_with(kIsolatedPrefix)) {
    CHIARO_ASSIGN(IsolatedSpec spec, parse_isolated_spec(text));
    std::string name = spec.name;
    return Wanted{std::move(name), std::move(spec)};
  }
  if (text.starts_with(kSoftGpuPrefix)) {
    CHIARO_ASSIGN(SoftGpuDeviceOptions softgpu, parse_softgpu_spec(text));
    std::string name = softgpu.name;
    return Wanted{std::move(name), std::nullopt, std::move(softgpu)};
  }
  if (is_metal_spec(text)) {
    CHIARO_ASSIGN(MetalDeviceOptions metal, parse_metal_spec(text));
    std::string name = metal.name;
    return Wanted{std::move(name), std::nullopt, std::nullopt, std::move(metal)};
  }
  return Error{ErrorCode::usage, "there is no device \"" + text + "\"", "",
               "use cpu, or metal0 on a Mac; isolated:NAME, softgpu:PROFILE and softmetal:PROFILE are for tests", ""};
}

// In order of preference, the CPU among them.
Result<std::vector<Wanted>> wanted_devices(const EngineOptions& options) {
  std::vector<Wanted> wanted;
  for (const std::string& text : options.devices) {
    CHIARO_ASSIGN(Wanted one, wanted_device(text));
    wanted.push_back(std::move(one));
  }
  for (const IsolatedSpec& spec : options.isolated) wanted.push_back({spec.name, spec, std::nullopt});
  const auto named = [&](std::string_view name) {
    return std::count_if(wanted.begin(), wanted.end(), [&](const Wanted& w) { return w.name == name; });
  };
  if (named("cpu") == 0) wanted.push_back({"cpu"});
  for (const Wanted& one : wanted) {
    if (named(one.name) > 1) {
      return Error{ErrorCode::usage, "the device \"" + one.name + "\" is named twice", "", "name each once", ""};
    }
    if (!one.isolated) continue;
    for (const std::string& other : one.isolated->addresses) {
      if (named(other) == 0) {
        return Error{ErrorCode::usage, one.name + " is to address \"" + other + "\", which is no device", "",
                     "addresses takes names of devices, joined by +", ""};
      }
    }
  }
  return wanted;
}

// What the device has kernels in before any is left out.
KernelTable kernels_of(const EngineOptions& options, const Wanted& wanted) {
  if (wanted.metal || wanted.softgpu) return gpu_kernel_table();
  return options.cpu_kernels && !wanted.isolated ? *options.cpu_kernels : cpu_kernel_table();
}

// Every entry, "OP", "KERNEL" or either "@DEVICE", leaves out something of a device that it is meant for.
Status check_disabled(const EngineOptions& options, const std::vector<Wanted>& devices) {
  for (const std::string& entry : options.disabled_ops) {
    const DisabledOp parts = split(entry);
    bool device = false, known = find_op(parts.op) != nullptr, removes = false;
    for (const Wanted& wanted : devices) {
      const bool meant = entry.find('@') == std::string::npos || wanted.name == parts.device;
      const bool has = names_any(parts.op, kernels_of(options, wanted));
      device = device || meant;
      known = known || has;
      removes = removes || (meant && has);
    }
    if (!known) return no_such(entry, "op or kernel", parts.op, "`chiaro ops list` shows the names");
    if (!device) return no_such(entry, "device", parts.device, "`chiaro devices` shows the names");
    if (removes) continue;
    return Error{ErrorCode::usage, "--disable-op " + entry + " would leave nothing out",
                 "no device that it is meant for has a kernel of that op or name",
                 "`chiaro ops show OP` lists the kernels", ""};
  }
  return {};
}

Result<std::unique_ptr<Device>> make_metal(Engine& engine, const EngineOptions& options, MetalDeviceOptions metal,
                                           std::vector<std::string> missing) {
  metal.threads = engine.pool().threads();
  metal.log = engine.log_ptr();
  metal.missing_ops = std::move(missing);
  if (options.alter_metal) options.alter_metal(metal);
  return make_metal_device(std::move(metal));
}

Result<std::unique_ptr<Device>> make_device(Engine& engine, const EngineOptions& options, const Wanted& wanted) {
  std::vector<std::string> missing = disabled_on(options.disabled_ops, wanted.name);
  if (wanted.metal) return make_metal(engine, options, *wanted.metal, std::move(missing));
  if (wanted.isolated) {
    return std::unique_ptr<Device>(make_isolated_device({*wanted.isolated, &engine.pool(), std::move(missing)}));
  }
  if (wanted.softgpu) {
    SoftGpuDeviceOptions softgpu = *wanted.softgpu;
    softgpu.pool = &engine.pool();
    softgpu.missing_ops = std::move(missing);
    if (options.on_dispatch) softgpu.on_dispatch = options.on_dispatch;
    return std::unique_ptr<Device>(make_softgpu_device(std::move(softgpu)));
  }
  CpuDeviceOptions cpu;
  cpu.allocator = engine.allocator();
  cpu.pool = &engine.pool();
  cpu.disabled_ops = std::move(missing);
  cpu.guarded = wanted.guarded;
  if (options.cpu_kernels) cpu.kernels = *options.cpu_kernels;
  return make_cpu_device(std::move(cpu));
}

}  // namespace

Result<std::shared_ptr<Engine>> Engine::create(EngineOptions options) {
  std::shared_ptr<Engine> engine(new Engine());
  engine->log_ = options.log ? std::move(options.log) : Log::silent();
  engine->allocator_ = options.allocator ? std::move(options.allocator) : std::make_shared<SystemAllocator>();
  engine->pool_ = std::make_unique<ThreadPool>(options.threads);
  engine->wide_weights_ = std::make_shared<WideWeights>(engine->allocator_);
  std::unique_ptr<WeightCache> cache;
  if (!options.weight_cache.empty()) cache = std::make_unique<WeightCache>(options.weight_cache, engine->log_);
  engine->packed_weights_ = std::make_unique<PackedWeights>(*engine->pool_, engine->allocator_, std::move(cache));
  CHIARO_ASSIGN(const std::vector<Wanted> wanted, wanted_devices(options));
  CHIARO_TRY(check_disabled(options, wanted));
  for (const Wanted& one : wanted) {
    CHIARO_ASSIGN(auto device, make_device(*engine, options, one));
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
