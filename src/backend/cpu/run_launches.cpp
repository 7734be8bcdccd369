#include "backend/cpu/run_launches.h"

#include <chrono>

#include "ops/cpu_kernel.h"

namespace chiaro {

Status run_launches(std::span<const Launch> launches, ThreadPool& pool, const std::atomic<bool>* cancel,
                    const LaunchTimer& timer, const std::function<Status(const Launch&)>& check) {
  CpuRun context;
  context.pool = &pool;
  context.cancel = cancel;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    if (check) CHIARO_TRY(check(launch));
    context.inputs = launch.inputs;
    context.output = launch.output;
    context.scratch = launch.scratch;
    const auto start = std::chrono::steady_clock::now();
    if (auto status = launch.plan->run(context); !status.ok()) {
      return std::move(status).error().at(launch.op).at(launch.label);
    }
    if (cancel != nullptr && cancel->load()) {
      return Error{ErrorCode::cancelled, "stopped on request", "", "", std::string(launch.label)};
    }
    if (timer) timer(i, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return {};
}

}  // namespace chiaro
