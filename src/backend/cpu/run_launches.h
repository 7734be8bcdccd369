// Runs CPU kernels one after the other: what every device that executes on the host shares.
#pragma once

#include <functional>
#include <span>

#include "backend/device.h"
#include "core/thread_pool.h"

namespace chiaro {

// `check` may refuse a launch before it runs. Errors: its own, the kernels' (with op and label), cancelled.
Status run_launches(std::span<const Launch> launches, ThreadPool& pool, const std::atomic<bool>* cancel,
                    const LaunchTimer& timer, const std::function<Status(const Launch&)>& check = {});

}  // namespace chiaro
