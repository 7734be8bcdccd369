#include "backend/cpu/run_launches.h"

#include <chrono>

#include "ops/cpu_kernel.h"

namespace chiaro {

std::vector<HostLaunch> resolve_launches(std::vector<Launch> launches) {
  std::vector<HostLaunch> resolved;
  resolved.reserve(launches.size());
  for (Launch& launch : launches) {
    HostLaunch host{std::move(launch), {}, nullptr, nullptr};
    for (const BufferRef& in : host.launch.inputs) host.inputs.push_back(in.address());
    host.output = host.launch.output.address();
    host.scratch = host.launch.scratch.address();
    resolved.push_back(std::move(host));
  }
  return resolved;
}

Status run_launches(std::span<const HostLaunch> launches, ThreadPool& pool, const std::atomic<bool>* cancel,
                    const LaunchTimer& timer, const std::function<Status(size_t launch)>& check) {
  CpuRun context;
  context.pool = &pool;
  context.cancel = cancel;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i].launch;
    if (check) CHIARO_TRY(check(i));
    context.inputs = launches[i].inputs;
    context.output = launches[i].output;
    context.scratch = launches[i].scratch;
    const auto start = std::chrono::steady_clock::now();
    if (auto status = launch.plan->run(context); !status.ok()) {
      return std::move(status).error().at(launch.op != nullptr ? launch.op->name : "").at(launch.label);
    }
    if (cancel != nullptr && cancel->load()) {
      return Error{ErrorCode::cancelled, "stopped on request", "", "", std::string(launch.label)};
    }
    if (timer) timer(i, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return {};
}

}  // namespace chiaro
