// Device: memory, a queue, and kernels. A backend implements this interface; it names no operator.
//
// A plan is cut into segments, one device each. compile() turns a segment into something that can be submitted again
// and again (every sampling step). Thread rule: any thread, but one thread at a time per segment. Order between devices
// is the executor's: it has one queue per device and events between them (runtime/queue.h), and submits a segment only
// when everything it waits for is done.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/kernel.h"

namespace chiaro {

class Device;

// A block of device memory. Released when destroyed; must not outlive its device.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual const Device& owner() const = 0;
  virtual int64_t bytes() const = 0;
  // The address as the owner's kernels use it; for the CPU a host pointer.
  virtual std::byte* address() const = 0;
};

// A place in a buffer, `offset` in bytes. Null for an optional input left out.
struct BufferRef {
  Buffer* buffer = nullptr;
  int64_t offset = 0;
  explicit operator bool() const { return buffer != nullptr; }
  std::byte* address() const { return buffer == nullptr ? nullptr : buffer->address() + offset; }
};

// One kernel launch of a segment. Buffers are resolved by the executor before compile, and outlive the segment.
struct Launch {
  const KernelPlan* plan = nullptr;
  std::vector<BufferRef> inputs;  // null for an optional input left out
  BufferRef output, scratch;      // scratch is null where the plan needs none
  std::string_view label;         // for errors and profiles
  const OpDef* op = nullptr;
};

// Called after each launch where a profile was asked for: index in the segment and seconds.
using LaunchTimer = std::function<void(size_t launch, double seconds)>;

// Belongs to one executor, which runs it once at a time. Several segments of a device may be in flight.
class CompiledSegment {
 public:
  virtual ~CompiledSegment() = default;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceTraits& traits() const = 0;
  // Candidates for an op in order of preference; empty where there is none (or all were disabled).
  virtual std::span<const Kernel> kernels(std::string_view op) const = 0;
  // A limit of this device that its kernels do not know of (a support mask of a test, a driver's fault). Asked before
  // the kernels. Errors: unsupported, with the reason.
  virtual Status accepts(const Call& call) const;

  // Errors: out_of_memory naming `what`. Zero bytes give a buffer with a null address.
  virtual Result<std::unique_ptr<Buffer>> allocate(int64_t bytes, std::string_view what) = 0;
  // Bytes that can still be allocated; -1 where nobody knows.
  virtual int64_t free_bytes() const { return -1; }
  // What the device may hold in all, the same at any time: a choice that changes bytes may depend on it, and not on
  // free_bytes(). -1 where nobody knows.
  virtual int64_t budget_bytes() const { return -1; }
  // Host memory, owned by the caller, as a buffer that kernels of this device may read where it lies. Devices that do
  // not address host memory refuse (unsupported); weights are then uploaded.
  virtual Result<std::unique_ptr<Buffer>> wrap(std::span<const std::byte> host, std::string_view what);
  // By declaration: whether kernels of this device may touch memory that `owner` allocated.
  virtual bool addresses(const Device& owner) const { return &owner == this; }
  bool can_address(const Buffer& buffer) const { return addresses(buffer.owner()); }

  // Between host memory and a buffer of this device; done when it returns.
  virtual Status upload(Buffer& to, int64_t offset, std::span<const std::byte> from) = 0;
  virtual Status download(std::span<std::byte> to, const Buffer& from, int64_t offset) = 0;
  // Whether copy_from can take memory of `source`; elsewhere the executor goes through the host.
  virtual bool copies_from(const Device& source) const { return &source == this; }
  // `bytes` from a buffer of a device that copies_from() names into one of this device; done when it returns.
  virtual Status copy_from(BufferRef to, BufferRef from, int64_t bytes);

  virtual Result<std::unique_ptr<CompiledSegment>> compile(std::vector<Launch> launches) = 0;
  // Starts the segment. `cancel` is checked per launch and per kernel chunk. Failures surface at wait().
  virtual Status submit(CompiledSegment& segment, const std::atomic<bool>* cancel, const LaunchTimer& timer) = 0;
  // Until the segment's last submit is done. Errors: cancelled, or what a launch reported; each once.
  virtual Status wait(CompiledSegment& segment) = 0;

  // For strict devices in serial runs: only the memory of the device that runs stays accessible. Called by the executor
  // on every device around every segment; does nothing by default.
  virtual void set_accessible(bool /*accessible*/) {}
};

}  // namespace chiaro
