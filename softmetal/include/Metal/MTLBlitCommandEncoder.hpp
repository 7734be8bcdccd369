// Copies and fills.
#pragma once

#include "Metal/MTLCommandEncoder.hpp"

namespace MTL {

class BlitCommandEncoder : public NS::Referencing<BlitCommandEncoder, CommandEncoder> {
 public:
  // Offsets and size are multiples of 4, as on a Mac.
  void copyFromBuffer(const MTL::Buffer* sourceBuffer, NS::UInteger sourceOffset, const MTL::Buffer* destinationBuffer,
                      NS::UInteger destinationOffset, NS::UInteger size);
  void fillBuffer(const MTL::Buffer* buffer, NS::Range range, uint8_t value);
  // Managed storage: carries what the GPU wrote over to the CPU.
  void synchronizeResource(const MTL::Resource* resource);
  void updateFence(const MTL::Fence* fence);
  void waitForFence(const MTL::Fence* fence);
};

}  // namespace MTL
