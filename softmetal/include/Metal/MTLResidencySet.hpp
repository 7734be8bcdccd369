// Allocations that stay resident together (macOS 15 and later). Their bytes count against the device's working set.
#pragma once

#include "Metal/MTLResource.hpp"

namespace MTL {

class ResidencySetDescriptor : public NS::Copying<ResidencySetDescriptor> {
 public:
  static ResidencySetDescriptor* alloc();
  ResidencySetDescriptor* init();
  NS::UInteger initialCapacity() const;
  NS::String* label() const;
  void setInitialCapacity(NS::UInteger initialCapacity);
  void setLabel(const NS::String* label);
};

// Changes take effect at commit().
class ResidencySet : public NS::Referencing<ResidencySet> {
 public:
  void addAllocation(const MTL::Allocation* allocation);
  void addAllocations(const MTL::Allocation* const allocations[], NS::UInteger count);
  NS::Array* allAllocations() const;
  uint64_t allocatedSize() const;  // of what is committed
  NS::UInteger allocationCount() const;
  void commit();
  bool containsAllocation(const MTL::Allocation* anAllocation);
  Device* device() const;
  void endResidency();
  NS::String* label() const;
  void removeAllAllocations();
  void removeAllocation(const MTL::Allocation* allocation);
  void removeAllocations(const MTL::Allocation* const allocations[], NS::UInteger count);
  void requestResidency();
};

}  // namespace MTL
