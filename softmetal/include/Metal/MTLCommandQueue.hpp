// Runs command buffers in the order in which they were enqueued or committed.
#pragma once

#include "Metal/MTLCommandBuffer.hpp"

namespace MTL {

class CommandQueue : public NS::Referencing<CommandQueue> {
 public:
  void addResidencySet(const MTL::ResidencySet* residencySet);
  void addResidencySets(const MTL::ResidencySet* const residencySets[], NS::UInteger count);
  // Autoreleased. Waits where as many as the queue takes (64, unless told) are neither done nor released.
  CommandBuffer* commandBuffer();
  CommandBuffer* commandBuffer(const MTL::CommandBufferDescriptor* descriptor);
  // The caller keeps every buffer and pipeline alive until it has completed.
  CommandBuffer* commandBufferWithUnretainedReferences();
  Device* device() const;
  NS::String* label() const;
  void removeResidencySet(const MTL::ResidencySet* residencySet);
  void removeResidencySets(const MTL::ResidencySet* const residencySets[], NS::UInteger count);
  void setLabel(const NS::String* label);
};

}  // namespace MTL
