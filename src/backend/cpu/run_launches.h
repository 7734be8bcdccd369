// Runs CPU kernels one after the other: what every device that executes on the host shares.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backend/device.h"
#include "core/thread_pool.h"

namespace chiaro {

// A launch with its addresses looked up, so that running it allocates nothing.
struct HostLaunch {
  Launch launch;
  std::vector<const std::byte*> inputs;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
};
std::vector<HostLaunch> resolve_launches(std::vector<Launch> launches);

// `check` may refuse a launch, by its index, before it runs. Errors: its own, the kernels' (with op and label),
// cancelled.
Status run_launches(std::span<const HostLaunch> launches, ThreadPool& pool, const std::atomic<bool>* cancel,
                    const LaunchTimer& timer, const std::function<Status(size_t launch)>& check = {});

}  // namespace chiaro
