#include "backend/cpu/cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "backend/cpu/run_launches.h"
#include "backend/strict/strict_device.h"
#include "ops/disabled_ops.h"

namespace chiaro {
namespace {

class HostBuffer final : public Buffer {
 public:
  HostBuffer(const Device& owner, Block block) : owner_(owner), block_(std::move(block)) {}
  const Device& owner() const override { return owner_; }
  int64_t bytes() const override { return static_cast<int64_t>(block_.size()); }
  std::byte* address() const override { return block_.data(); }

 private:
  const Device& owner_;
  Block block_;
};

// Memory of the caller's (a mapped file), read where it lies.
class HostView final : public Buffer {
 public:
  HostView(const Device& owner, std::span<const std::byte> host) : owner_(owner), host_(host) {}
  const Device& owner() const override { return owner_; }
  int64_t bytes() const override { return static_cast<int64_t>(host_.size()); }
  // Only inputs of launches are views of the caller's memory; nothing is written through this.
  std::byte* address() const override { return const_cast<std::byte*>(host_.data()); }

 private:
  const Device& owner_;
  std::span<const std::byte> host_;
};

struct CpuSegment final : CompiledSegment {
  std::vector<HostLaunch> launches;
  Status result;  // of the last submit, until wait takes it
};

Error bad_range(std::string_view what) {
  return {ErrorCode::internal, std::string(what) + " past the end of a buffer", "", "", "cpu"};
}

int64_t l2_cache_bytes() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  const long bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return bytes;
#endif
  return DeviceTraits{}.l2_bytes;
}

// Memory of this machine, or of the container (cgroup v2) where that is less, whatever of it is in use; -1 where the
// system does not say.
int64_t machine_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const int64_t machine = pages > 0 && page > 0 ? int64_t{pages} * page : -1;
  int64_t limit = 0;  // "max", which is no number, where there is none
  if (!(std::ifstream("/sys/fs/cgroup/memory.max") >> limit) || limit <= 0) return machine;
  return machine < 0 ? limit : std::min(machine, limit);
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(CpuDeviceOptions options) : options_(std::move(options)) {
    traits_.threads = options_.pool->threads();
    traits_.l2_bytes = l2_cache_bytes();
    remove_disabled(options_.kernels, options_.disabled_ops);
  }

  const DeviceTraits& traits() const override { return traits_; }

  std::span<const Kernel> kernels(std::string_view op) const override {
    for (const Kernels& candidates : options_.kernels) {
      if (candidates.front().op == op) return candidates;
    }
    return {};
  }

  Result<std::unique_ptr<Buffer>> allocate(int64_t bytes, std::string_view what) override {
    if (options_.guarded && bytes > 0) {
      CHIARO_ASSIGN(std::byte * begin, guarded_.allocate(bytes, what));
      return std::unique_ptr<Buffer>(std::make_unique<StrictBuffer>(*this, guarded_, begin, bytes));
    }
    CHIARO_ASSIGN(Block block, Block::make(options_.allocator, static_cast<size_t>(bytes), what));
    return std::unique_ptr<Buffer>(std::make_unique<HostBuffer>(*this, std::move(block)));
  }

  // Half of the machine's memory: the rest is for weights, which are mapped, the picture, and other programs. A system
  // that has less grants more and then ends the process.
  int64_t budget_bytes() const override { return machine_bytes_ < 0 ? -1 : machine_bytes_ / 2; }

  Result<std::unique_ptr<Buffer>> wrap(std::span<const std::byte> host, std::string_view) override {
    return std::unique_ptr<Buffer>(std::make_unique<HostView>(*this, host));
  }

  Status upload(Buffer& to, int64_t offset, std::span<const std::byte> from) override {
    if (offset + static_cast<int64_t>(from.size()) > to.bytes()) return bad_range("upload");
    if (!from.empty()) std::memcpy(to.address() + offset, from.data(), from.size());
    return {};
  }

  Status download(std::span<std::byte> to, const Buffer& from, int64_t offset) override {
    if (offset + static_cast<int64_t>(to.size()) > from.bytes()) return bad_range("download");
    if (!to.empty()) std::memcpy(to.data(), from.address() + offset, to.size());
    return {};
  }

  // Between buffers of its own.
  Status copy_from(BufferRef to, BufferRef from, int64_t bytes) override {
    if (!can_address(*to.buffer) || !can_address(*from.buffer)) return Device::copy_from(to, from, bytes);
    if (from.offset + bytes > from.buffer->bytes()) return bad_range("copy");
    return upload(*to.buffer, to.offset, {from.address(), static_cast<size_t>(bytes)});
  }

  Result<std::unique_ptr<CompiledSegment>> compile(std::vector<Launch> launches) override {
    auto segment = std::make_unique<CpuSegment>();
    segment->launches = resolve_launches(std::move(launches));
    return std::unique_ptr<CompiledSegment>(std::move(segment));
  }

  // The CPU's queue is the calling thread: the work is done when submit returns, its result is kept for wait().
  Status submit(CompiledSegment& segment, const std::atomic<bool>* cancel, const LaunchTimer& timer) override {
    auto& own = static_cast<CpuSegment&>(segment);
    own.result = run_launches(own.launches, *options_.pool, cancel, timer);
    return {};
  }

  Status wait(CompiledSegment& segment) override {
    return std::exchange(static_cast<CpuSegment&>(segment).result, Status{});
  }

  void set_accessible(bool accessible) override { guarded_.set_accessible(accessible); }

 private:
  CpuDeviceOptions options_;
  IsolatedMemory guarded_{0};  // unused where options_.guarded is false
  DeviceTraits traits_;
  int64_t machine_bytes_ = machine_memory_bytes();
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(CpuDeviceOptions options) {
  return std::make_unique<CpuDevice>(std::move(options));
}

}  // namespace chiaro
