#include "backend/isolated/isolated_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/cpu/run_launches.h"
#include "backend/isolated/isolated_memory.h"

namespace chiaro {
namespace {

class IsolatedBuffer final : public Buffer {
 public:
  IsolatedBuffer(const Device& owner, IsolatedMemory& memory, std::byte* address, int64_t bytes)
      : owner_(owner), memory_(memory), address_(address), bytes_(bytes) {}
  ~IsolatedBuffer() override { memory_.release(address_); }
  const Device& owner() const override { return owner_; }
  int64_t bytes() const override { return bytes_; }
  std::byte* address() const override { return address_; }

 private:
  const Device& owner_;
  IsolatedMemory& memory_;
  std::byte* address_;
  int64_t bytes_;
};

struct IsolatedSegment final : CompiledSegment {
  std::vector<HostLaunch> launches;
  Status result;  // of the last submit, until wait takes it
};

Error out_of_range(std::string_view what) {
  return {ErrorCode::internal, std::string(what) + " past the end of a buffer", "", "", ""};
}

class IsolatedDevice final : public Device {
 public:
  explicit IsolatedDevice(IsolatedDeviceOptions options)
      : options_(std::move(options)), memory_(options_.budget_bytes), kernels_(cpu_kernel_table()) {
    traits_.name = options_.name;
    traits_.kind = "isolated";
    traits_.threads = options_.pool->threads();
    traits_.addresses_host = false;
    std::erase_if(kernels_, [&](const Kernels& candidates) {
      return candidates.empty() || lacks(std::string(candidates.front().op));
    });
  }

  const DeviceTraits& traits() const override { return traits_; }

  std::span<const Kernel> kernels(std::string_view op) const override {
    for (const Kernels& candidates : kernels_) {
      if (candidates.front().op == op) return candidates;
    }
    return {};
  }

  Result<std::unique_ptr<Buffer>> allocate(int64_t bytes, std::string_view what) override {
    CHIARO_ASSIGN(auto address, memory_.allocate(std::max<int64_t>(bytes, 1), what));
    return std::unique_ptr<Buffer>(std::make_unique<IsolatedBuffer>(*this, memory_, address, bytes));
  }

  Status upload(Buffer& to, int64_t offset, std::span<const std::byte> from) override {
    if (!can_address(to)) return foreign("the target of an upload", "", "");
    if (offset + static_cast<int64_t>(from.size()) > to.bytes()) return out_of_range("upload");
    if (!from.empty()) std::memcpy(to.address() + offset, from.data(), from.size());
    return {};
  }

  Status download(std::span<std::byte> to, const Buffer& from, int64_t offset) override {
    if (!can_address(from)) return foreign("the source of a download", "", "");
    if (offset + static_cast<int64_t>(to.size()) > from.bytes()) return out_of_range("download");
    if (!to.empty()) std::memcpy(to.data(), from.address() + offset, to.size());
    return {};
  }

  Result<std::unique_ptr<CompiledSegment>> compile(std::vector<Launch> launches) override {
    for (const Launch& launch : launches) CHIARO_TRY(check_pointers(launch));
    auto segment = std::make_unique<IsolatedSegment>();
    segment->launches = resolve_launches(std::move(launches));
    return std::unique_ptr<CompiledSegment>(std::move(segment));
  }

  Status submit(CompiledSegment& segment, const std::atomic<bool>* cancel, const LaunchTimer& timer) override {
    // Pointers are checked again at each launch: a buffer may have been released since the segment was compiled.
    auto& own = static_cast<IsolatedSegment&>(segment);
    own.result = run_launches(own.launches, *options_.pool, cancel, timer,
                              [this](const Launch& launch) { return check_pointers(launch); });
    return {};
  }

  Status wait(CompiledSegment& segment) override {
    return std::exchange(static_cast<IsolatedSegment&>(segment).result, Status{});
  }

 private:
  bool lacks(const std::string& op) const {
    return std::find(options_.missing_ops.begin(), options_.missing_ops.end(), op) != options_.missing_ops.end();
  }

  Error foreign(const std::string& operand, std::string_view op, std::string_view label) const {
    return {ErrorCode::ownership, operand + " is not in the memory of " + options_.name,
            op.empty() ? "" : std::string(op) + " would touch memory of another owner",
            "the plan must copy it there first", std::string(label)};
  }

  Status check_place(const BufferRef& ref, int64_t bytes, const std::string& what, const Launch& launch) const {
    if (can_address(*ref.buffer) && memory_.owns(ref.address(), bytes)) return {};
    return foreign(what, launch.op->name, launch.label);
  }

  Status check_pointers(const Launch& launch) const {
    for (size_t i = 0; i < launch.inputs.size(); ++i) {
      if (launch.inputs[i]) CHIARO_TRY(check_place(launch.inputs[i], 1, "input " + std::to_string(i), launch));
    }
    CHIARO_TRY(check_place(launch.output, 1, "the output", launch));
    if (launch.scratch) CHIARO_TRY(check_place(launch.scratch, launch.plan->scratch_bytes(), "the scratch", launch));
    return {};
  }

  IsolatedDeviceOptions options_;
  DeviceTraits traits_;
  IsolatedMemory memory_;
  KernelTable kernels_;
};

}  // namespace

std::unique_ptr<Device> make_isolated_device(IsolatedDeviceOptions options) {
  return std::make_unique<IsolatedDevice>(std::move(options));
}

}  // namespace chiaro
