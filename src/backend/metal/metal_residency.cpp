#include "backend/metal/metal_residency.h"

namespace chiaro {
namespace {

bool system_has_residency_sets() {
#if defined(__APPLE__)
  if (__builtin_available(macOS 15.0, *)) return true;
  return false;
#else
  return true;
#endif
}

}  // namespace

MetalResidency::MetalResidency(MTL::Device& device, MTL::CommandQueue& queue) : queue_(queue) {
  if (!system_has_residency_sets()) return;
  const auto descriptor = NS::TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
  if (!descriptor) return;
  descriptor->setInitialCapacity(1024);
  NS::Error* error = nullptr;
  set_ = NS::TransferPtr(device.newResidencySet(descriptor.get(), &error));
  if (set_) queue_.addResidencySet(set_.get());
}

MetalResidency::~MetalResidency() {
  const MetalPool pool;
  if (set_) queue_.removeResidencySet(set_.get());
}

void MetalResidency::add(MTL::Buffer& buffer) {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  set_->addAllocation(&buffer);
  changed_ = true;
}

void MetalResidency::remove(const std::vector<MTL::Buffer*>& buffers) {
  if (!set_ || buffers.empty()) return;
  const std::lock_guard lock(mutex_);
  for (MTL::Buffer* const buffer : buffers) set_->removeAllocation(buffer);
  // A removal is only planned until then. What was added meanwhile is in the set from here on; settle() asks for it.
  set_->commit();
}

void MetalResidency::settle() {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  if (!changed_) return;
  set_->commit();
  set_->requestResidency();
  changed_ = false;
}

uint64_t MetalResidency::bytes() const {
  return set_ ? set_->allocatedSize() : 0;
}

}  // namespace chiaro
