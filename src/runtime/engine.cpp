#include "runtime/engine.h"

#include "backend/cpu/cpu_device.h"
#include "ops/catalogue.h"

namespace chiaro {
namespace {

// "OP" or "OP@DEVICE": appends OP where it means `device`.
Status collect_disabled(const std::string& entry, std::string_view device, std::vector<std::string>& out) {
  const size_t at = entry.find('@');
  const std::string op = entry.substr(0, at);
  if (find_op(op) == nullptr) {
    return Error{ErrorCode::usage, "--disable-op " + entry + ": there is no op \"" + op + "\"", "",
                 "`chiaro ops list` shows the names", ""};
  }
  if (at != std::string::npos && entry.substr(at + 1) != device) {
    return Error{ErrorCode::usage, "--disable-op " + entry + ": there is no device \"" + entry.substr(at + 1) + "\"",
                 "", "`chiaro devices` shows the names", ""};
  }
  out.push_back(op);
  return {};
}

}  // namespace

Result<std::shared_ptr<Engine>> Engine::create(EngineOptions options) {
  std::shared_ptr<Engine> engine(new Engine());
  engine->log_ = options.log ? std::move(options.log) : Log::silent();
  engine->allocator_ = options.allocator ? std::move(options.allocator) : std::make_shared<SystemAllocator>();
  engine->pool_ = std::make_unique<ThreadPool>(options.threads);
  CpuDeviceOptions cpu;
  cpu.allocator = engine->allocator_;
  cpu.pool = engine->pool_.get();
  for (const std::string& entry : options.disabled_ops) CHIARO_TRY(collect_disabled(entry, "cpu", cpu.disabled_ops));
  if (options.cpu_kernels) cpu.kernels = *options.cpu_kernels;
  engine->owned_.push_back(make_cpu_device(std::move(cpu)));
  engine->device_list_.push_back(engine->owned_.back().get());
  return engine;
}

Device* Engine::device(std::string_view name) const {
  for (Device* d : device_list_) {
    if (d->traits().name == name) return d;
  }
  return nullptr;
}

}  // namespace chiaro
