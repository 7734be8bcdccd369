// The residency set of a device: its buffers, made resident once instead of by every command buffer. From macOS 15 on;
// elsewhere nothing happens, and Metal makes resident what a command buffer binds.
#pragma once

#include <mutex>

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
  void remove(MTL::Buffer& buffer);
  // Before a command buffer is committed: what was added and removed takes effect.
  void settle();

 private:
  MTL::CommandQueue& queue_;
  std::mutex mutex_;
  NS::SharedPtr<MTL::ResidencySet> set_;  // null where there is none
  bool changed_ = false;
};

}  // namespace chiaro
