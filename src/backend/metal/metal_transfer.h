// Bytes between the host and a Metal device's memory: by memcpy where both see it, through a staging buffer elsewhere.
#pragma once

#include <mutex>
#include <span>

#include "backend/metal/metal_memory.h"
#include "backend/metal/metal_segment.h"

namespace chiaro {

// Each call returns when the bytes are there. Thread rule: any thread.
class MetalTransfer {
 public:
  explicit MetalTransfer(MetalQueue& queue) : queue_(queue) {}
  ~MetalTransfer();
  MetalTransfer(const MetalTransfer&) = delete;
  MetalTransfer& operator=(const MetalTransfer&) = delete;
  Status upload(MetalBuffer& to, int64_t offset, std::span<const std::byte> from);
  Status download(std::span<std::byte> to, MetalBuffer& from, int64_t offset);
  // Between buffers of the device; the ranges may overlap in shared storage only.
  Status copy(MetalBuffer& to, int64_t to_offset, MetalBuffer& from, int64_t from_offset, int64_t bytes);

 private:
  Status stage(MetalBuffer& buffer, int64_t offset, std::span<std::byte> down, std::span<const std::byte> up);
  Status blit(const MetalPlace& from, const MetalPlace& to, NS::UInteger bytes);
  Status need_staging();
  MetalQueue& queue_;
  std::mutex mutex_;
  NS::SharedPtr<MTL::Buffer> staging_;
};

}  // namespace chiaro
