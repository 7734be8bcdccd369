// Device: memory, a queue, and kernels. A backend implements this interface; it names no operator.
//
// A plan is cut into segments, one device each. compile() turns a segment into something that can be submitted again
// and again (every sampling step). Thread rule: any thread, but one thread at a time per segment.
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
  // The address as this device's kernels use it; for the CPU a host pointer.
  virtual std::byte* address() const = 0;
};

// One kernel launch of a segment. Addresses are resolved by the executor before compile.
struct Launch {
  const KernelPlan* plan = nullptr;
  std::vector<const std::byte*> inputs;  // nullptr for an optional input left out
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;
  std::string_view label;  // for errors and profiles
  std::string_view op;
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

  // Errors: out_of_memory naming `what`. Zero bytes give a buffer with a null address.
  virtual Result<std::unique_ptr<Buffer>> allocate(int64_t bytes, std::string_view what) = 0;
  // By declaration: whether kernels of this device may touch that buffer.
  virtual bool can_address(const Buffer& buffer) const = 0;
  // Between host memory and a buffer of this device; done when it returns.
  virtual Status upload(Buffer& to, int64_t offset, std::span<const std::byte> from) = 0;
  virtual Status download(std::span<std::byte> to, const Buffer& from, int64_t offset) = 0;

  virtual Result<std::unique_ptr<CompiledSegment>> compile(std::vector<Launch> launches) = 0;
  // Starts the segment. `cancel` is checked per launch and per kernel chunk. Failures surface at wait().
  virtual Status submit(CompiledSegment& segment, const std::atomic<bool>* cancel, const LaunchTimer& timer) = 0;
  // Until the segment's last submit is done. Errors: cancelled, or what a launch reported; each once.
  virtual Status wait(CompiledSegment& segment) = 0;
};

}  // namespace chiaro
