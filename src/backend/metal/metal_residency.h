// The residency set of a device: its buffers, made resident once instead of by every command buffer. From macOS 15 on;
// elsewhere nothing happens, and Metal makes resident what a command buffer binds.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "backend/metal/metal_api.h"

namespace chiaro {

// Thread rule: any thread.
class MetalResidency {
 public:
  MetalResidency(MTL::Device& device, MTL::CommandQueue& queue);
  ~MetalResidency();
  MetalResidency(const MetalResidency&) = delete;
  MetalResidency& operator=(const MetalResidency&) = delete;
  bool present() const { return static_cast<bool>(set_); }
  void add(MTL::Buffer& buffer);
  // Takes effect at once: the memory of what is removed may go as soon as this returns.
  void remove(const std::vector<MTL::Buffer*>& buffers);
  // Before a command buffer is committed: what was added takes effect.
  void settle();
  // Of what is in effect; 0 where there is no set.
  uint64_t bytes() const;

 private:
  MTL::CommandQueue& queue_;
  std::mutex mutex_;
  NS::SharedPtr<MTL::ResidencySet> set_;  // null where there is none
  bool changed_ = false;
};

}  // namespace chiaro
