// StrictDevice: what devices in host memory share that hold every access to what they declare: memory of their own
// pages (poisoned, counted, inaccessible after release), bounds of copies, and the owner of every operand of a launch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "backend/isolated/isolated_memory.h"

namespace chiaro {

class StrictDevice : public Device {
 public:
  const DeviceTraits& traits() const override { return traits_; }
  // Counters of the device's bytes, and its faults on request.
  IsolatedMemory& memory() { return memory_; }

  Result<std::unique_ptr<Buffer>> allocate(int64_t bytes, std::string_view what) override;
  int64_t free_bytes() const override;
  int64_t budget_bytes() const override { return memory_.budget_bytes() > 0 ? memory_.budget_bytes() : -1; }
  bool addresses(const Device& owner) const override;
  Status upload(Buffer& to, int64_t offset, std::span<const std::byte> from) override;
  Status download(std::span<std::byte> to, const Buffer& from, int64_t offset) override;
  bool copies_from(const Device& source) const override { return addresses(source); }
  Status copy_from(BufferRef to, BufferRef from, int64_t bytes) override;
  void set_accessible(bool accessible) override { memory_.set_accessible(accessible); }

 protected:
  // `addresses`: names of other devices whose memory kernels of this one may touch.
  StrictDevice(DeviceTraits traits, std::vector<std::string> addresses, int64_t budget_bytes, int64_t fail_at);

  // Called before the bytes of a copy are taken, and after they landed in `to`.
  virtual void copy_begins() {}
  virtual void copy_landed(Buffer& /*to*/, int64_t /*offset*/, int64_t /*bytes*/) {}
  virtual std::unique_ptr<Buffer> make_buffer(std::byte* address, int64_t bytes);

  // Whether the launch's operands lie in memory that this device addresses, and inside their buffers. Adds those in its
  // own memory to `own`. Errors: ownership, naming operand, op, node and owner; internal for bounds.
  Status check_launch(const Launch& launch, std::vector<const std::byte*>& own) const;
  // A buffer may have been released since check_launch; its owner can no longer be asked. Errors: ownership.
  Status check_live(const Launch& launch, std::span<const std::byte* const> own) const;

 private:
  Status check_own(const Buffer& buffer, int64_t offset, int64_t bytes, const std::string& what) const;

  DeviceTraits traits_;
  std::vector<std::string> addresses_;
  IsolatedMemory memory_;
};

// A block of a StrictDevice's memory.
class StrictBuffer : public Buffer {
 public:
  StrictBuffer(const Device& owner, IsolatedMemory& memory, std::byte* address, int64_t bytes)
      : owner_(owner), memory_(memory), address_(address), bytes_(bytes) {}
  ~StrictBuffer() override { memory_.release(address_); }
  const Device& owner() const override { return owner_; }
  int64_t bytes() const override { return bytes_; }
  std::byte* address() const override { return address_; }

 private:
  const Device& owner_;
  IsolatedMemory& memory_;
  std::byte* address_;
  int64_t bytes_;
};

}  // namespace chiaro
