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

void MetalResidency::remove(MTL::Buffer& buffer) {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  set_->removeAllocation(&buffer);
  changed_ = true;
}

void MetalResidency::settle() {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  if (!changed_) return;
  set_->commit();
  set_->requestResidency();
  changed_ = false;
}

}  // namespace chiaro
