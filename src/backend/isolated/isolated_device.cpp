#include "backend/isolated/isolated_device.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "backend/cpu/run_launches.h"
#include "backend/strict/strict_device.h"
#include "ops/disabled_ops.h"

namespace chiaro {
namespace {

struct IsolatedSegment final : CompiledSegment {
  std::vector<HostLaunch> launches;
  std::vector<std::vector<const std::byte*>> own;  // per launch: its addresses in this device's memory
  Status result;                                   // of the last submit, until wait takes it
};

// A copy engine's time: between 0 and the spec's delay, drawn by seed and number of the copy.
class CopyDelay {
 public:
  CopyDelay(std::chrono::microseconds most, uint64_t seed) : most_(most), seed_(seed) {}
  void pass() {
    if (most_.count() <= 0) return;
    uint64_t z = seed_ + 0x9e3779b97f4a7c15ULL * (count_.fetch_add(1) + 1);  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    std::this_thread::sleep_for(std::chrono::microseconds(z % (static_cast<uint64_t>(most_.count()) + 1)));
  }

 private:
  std::chrono::microseconds most_;
  uint64_t seed_;
  std::atomic<uint64_t> count_{0};
};

DeviceTraits traits_of(const IsolatedDeviceOptions& options) {
  DeviceTraits traits;
  traits.name = options.spec.name;
  traits.kind = "isolated";
  traits.threads = options.pool->threads();
  traits.addresses_host = false;
  return traits;
}

class IsolatedDevice final : public StrictDevice {
 public:
  explicit IsolatedDevice(IsolatedDeviceOptions options)
      : StrictDevice(traits_of(options), options.spec.addresses, options.spec.budget_bytes, options.spec.fail_at),
        options_(std::move(options)),
        delay_(options_.spec.copy_delay, options_.spec.seed),
        kernels_(cpu_kernel_table()) {
    remove_disabled(kernels_, options_.missing_ops);
  }

  std::span<const Kernel> kernels(std::string_view op) const override {
    for (const Kernels& candidates : kernels_) {
      if (candidates.front().op == op) return candidates;
    }
    return {};
  }

  Status accepts(const Call& call) const override {
    for (const MaskEntry& entry : options_.spec.mask) {
      if (!entry.refuses(call)) continue;
      return Error{ErrorCode::unsupported, traits().name + " does not take " + std::string(call.op->name),
                   "its mask has " + entry.text(), "", ""};
    }
    return {};
  }

  Result<std::unique_ptr<CompiledSegment>> compile(std::vector<Launch> launches) override {
    auto segment = std::make_unique<IsolatedSegment>();
    for (const Launch& launch : launches) {
      std::vector<const std::byte*> own;
      CHIARO_TRY(check_launch(launch, own));
      segment->own.push_back(std::move(own));
    }
    segment->launches = resolve_launches(std::move(launches));
    return std::unique_ptr<CompiledSegment>(std::move(segment));
  }

  Status submit(CompiledSegment& segment, const std::atomic<bool>* cancel, const LaunchTimer& timer) override {
    auto& own = static_cast<IsolatedSegment&>(segment);
    own.result = run_launches(own.launches, *options_.pool, cancel, timer,
                              [&](size_t i) { return check_live(own.launches[i].launch, own.own[i]); });
    return {};
  }

  Status wait(CompiledSegment& segment) override {
    return std::exchange(static_cast<IsolatedSegment&>(segment).result, Status{});
  }

 private:
  void copy_begins() override { delay_.pass(); }

  IsolatedDeviceOptions options_;
  CopyDelay delay_;
  KernelTable kernels_;
};

}  // namespace

std::unique_ptr<Device> make_isolated_device(IsolatedDeviceOptions options) {
  return std::make_unique<IsolatedDevice>(std::move(options));
}

}  // namespace chiaro
