#include "backend/isolated/isolated_device.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "backend/cpu/run_launches.h"

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
  std::vector<std::vector<const std::byte*>> own;  // per launch: its pointers into this device's memory
  Status result;                                   // of the last submit, until wait takes it
};

// Who an operand is, for errors: input 1 "weight", the output, the scratch.
std::string input_name(const Launch& launch, size_t i) {
  std::string name = "input " + std::to_string(i);
  if (launch.op == nullptr || launch.op->inputs.empty()) return name;
  return name + " \"" + std::string(launch.op->inputs[std::min(i, launch.op->inputs.size() - 1)].name) + "\"";
}

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

class IsolatedDeviceImpl final : public IsolatedDevice {
 public:
  explicit IsolatedDeviceImpl(IsolatedDeviceOptions options)
      : options_(std::move(options)),
        memory_(options_.spec.budget_bytes, options_.spec.fail_at),
        delay_(options_.spec.copy_delay, options_.spec.seed),
        kernels_(cpu_kernel_table()) {
    traits_.name = options_.spec.name;
    traits_.kind = "isolated";
    traits_.threads = options_.pool->threads();
    traits_.addresses_host = false;
    std::erase_if(kernels_, [&](const Kernels& candidates) {
      return candidates.empty() || lacks(std::string(candidates.front().op));
    });
  }

  const DeviceTraits& traits() const override { return traits_; }
  IsolatedMemory& memory() override { return memory_; }

  std::span<const Kernel> kernels(std::string_view op) const override {
    for (const Kernels& candidates : kernels_) {
      if (candidates.front().op == op) return candidates;
    }
    return {};
  }

  Status accepts(const Call& call) const override {
    for (const MaskEntry& entry : options_.spec.mask) {
      if (!entry.refuses(call)) continue;
      return Error{ErrorCode::unsupported, traits_.name + " does not take " + std::string(call.op->name),
                   "its mask has " + entry.text(), "", ""};
    }
    return {};
  }

  Result<std::unique_ptr<Buffer>> allocate(int64_t bytes, std::string_view what) override {
    std::byte* address = nullptr;
    if (bytes > 0) {
      auto block = memory_.allocate(bytes, what);
      if (!block.ok()) return std::move(block).error().at(traits_.name);
      address = *block;
    }
    return std::unique_ptr<Buffer>(std::make_unique<IsolatedBuffer>(*this, memory_, address, bytes));
  }

  int64_t free_bytes() const override {
    return memory_.budget_bytes() > 0 ? memory_.budget_bytes() - memory_.live_bytes() : -1;
  }

  bool addresses(const Device& owner) const override {
    const auto& named = options_.spec.addresses;
    return &owner == this || std::find(named.begin(), named.end(), owner.traits().name) != named.end();
  }

  Status upload(Buffer& to, int64_t offset, std::span<const std::byte> from) override {
    CHIARO_TRY(check_own(to, offset, static_cast<int64_t>(from.size()), "the target of an upload"));
    delay_.pass();
    if (!from.empty()) std::memcpy(to.address() + offset, from.data(), from.size());
    return {};
  }

  Status download(std::span<std::byte> to, const Buffer& from, int64_t offset) override {
    CHIARO_TRY(check_own(from, offset, static_cast<int64_t>(to.size()), "the source of a download"));
    delay_.pass();
    if (!to.empty()) std::memcpy(to.data(), from.address() + offset, to.size());
    return {};
  }

  bool copies_from(const Device& source) const override { return addresses(source); }

  Status copy_from(BufferRef to, BufferRef from, int64_t bytes) override {
    CHIARO_TRY(check_own(*to.buffer, to.offset, bytes, "the target of a copy"));
    if (!can_address(*from.buffer)) return foreign("the source of a copy", *from.buffer, nullptr);
    if (from.offset < 0 || from.offset + bytes > from.buffer->bytes()) return out_of_range("the source of a copy");
    delay_.pass();
    if (bytes > 0) std::memmove(to.address(), from.address(), static_cast<size_t>(bytes));
    return {};
  }

  Result<std::unique_ptr<CompiledSegment>> compile(std::vector<Launch> launches) override {
    auto segment = std::make_unique<IsolatedSegment>();
    for (const Launch& launch : launches) {
      std::vector<const std::byte*> own;
      for (size_t i = 0; i < launch.inputs.size(); ++i) {
        CHIARO_TRY(check_operand(launch.inputs[i], input_name(launch, i), launch, own));
      }
      CHIARO_TRY(check_operand(launch.output, "the output", launch, own));
      CHIARO_TRY(check_operand(launch.scratch, "the scratch", launch, own, launch.plan->scratch_bytes()));
      segment->own.push_back(std::move(own));
    }
    segment->launches = resolve_launches(std::move(launches));
    return std::unique_ptr<CompiledSegment>(std::move(segment));
  }

  Status submit(CompiledSegment& segment, const std::atomic<bool>* cancel, const LaunchTimer& timer) override {
    auto& own = static_cast<IsolatedSegment&>(segment);
    own.result =
        run_launches(own.launches, *options_.pool, cancel, timer, [&](size_t i) { return check_live(own, i); });
    return {};
  }

  Status wait(CompiledSegment& segment) override {
    return std::exchange(static_cast<IsolatedSegment&>(segment).result, Status{});
  }

  void set_accessible(bool accessible) override { memory_.set_accessible(accessible); }

 private:
  bool lacks(const std::string& op) const {
    return std::find(options_.missing_ops.begin(), options_.missing_ops.end(), op) != options_.missing_ops.end();
  }

  static Error out_of_range(std::string_view what) {
    return {ErrorCode::internal, std::string(what) + " is past the end of a buffer", "", "", ""};
  }

  Error foreign(const std::string& operand, const Buffer& buffer, const Launch* launch) const {
    const std::string op = launch != nullptr && launch->op != nullptr ? std::string(launch->op->name) : "a copy";
    return {
        ErrorCode::ownership, operand + " of " + op + " is not in the memory of " + traits_.name,
        "it lies in the memory of " + buffer.owner().traits().name + ", which " + traits_.name + " does not address",
        "the plan must copy it there first", launch != nullptr ? std::string(launch->label) : traits_.name};
  }

  Status check_own(const Buffer& buffer, int64_t offset, int64_t bytes, const std::string& what) const {
    if (&buffer.owner() != this) return foreign(what, buffer, nullptr);
    if (offset < 0 || offset + bytes > buffer.bytes()) return out_of_range(what);
    return {};
  }

  // Adds the address to `own` where it is in this device's memory.
  Status check_operand(const BufferRef& ref, const std::string& what, const Launch& launch,
                       std::vector<const std::byte*>& own, int64_t bytes = 1) const {
    if (!ref || ref.buffer->bytes() == 0) return {};
    if (!can_address(*ref.buffer)) return foreign(what, *ref.buffer, &launch);
    if (ref.offset < 0 || ref.offset + bytes > ref.buffer->bytes()) {
      return out_of_range(what + " of " + std::string(launch.op != nullptr ? launch.op->name : "")).at(launch.label);
    }
    if (&ref.buffer->owner() == this) own.push_back(ref.address());
    return {};
  }

  // A buffer may have been released since the segment was compiled; its owner can no longer be asked.
  Status check_live(const IsolatedSegment& segment, size_t i) const {
    for (const std::byte* address : segment.own[i]) {
      if (memory_.owns(address, 1)) continue;
      const Launch& launch = segment.launches[i].launch;
      return Error{ErrorCode::ownership, "an operand was released before the launch that uses it",
                   std::string(launch.op != nullptr ? launch.op->name : "") + " on " + traits_.name,
                   "buffers must outlive the segments compiled with them", std::string(launch.label)};
    }
    return {};
  }

  IsolatedDeviceOptions options_;
  DeviceTraits traits_;
  IsolatedMemory memory_;
  CopyDelay delay_;
  KernelTable kernels_;
};

}  // namespace

std::unique_ptr<IsolatedDevice> make_isolated_device(IsolatedDeviceOptions options) {
  return std::make_unique<IsolatedDeviceImpl>(std::move(options));
}

}  // namespace chiaro
