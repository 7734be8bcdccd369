// Launches of kernels.
#pragma once

#include "Metal/MTLCommandEncoder.hpp"
#include "Metal/MTLComputePipeline.hpp"

namespace MTL {

class ComputeCommandEncoder : public NS::Referencing<ComputeCommandEncoder, CommandEncoder> {
 public:
  // Threadgroups are (32 n, 1, 1): kernels of the dialect are one-dimensional.
  void dispatchThreadgroups(MTL::Size threadgroupsPerGrid, MTL::Size threadsPerThreadgroup);
  void dispatchThreadgroups(const MTL::Buffer* indirectBuffer, NS::UInteger indirectBufferOffset,
                            MTL::Size threadsPerThreadgroup);
  // A grid of whole threadgroups: kernels of the dialect take no partial ones.
  void dispatchThreads(MTL::Size threadsPerGrid, MTL::Size threadsPerThreadgroup);
  DispatchType dispatchType() const;
  void memoryBarrier(MTL::BarrierScope scope);
  void memoryBarrier(const MTL::Resource* const resources[], NS::UInteger count);
  void setBuffer(const MTL::Buffer* buffer, NS::UInteger offset, NS::UInteger index);
  void setBufferOffset(NS::UInteger offset, NS::UInteger index);
  void setBuffers(const MTL::Buffer* const buffers[], const NS::UInteger offsets[], NS::Range range);
  // At most 4096 bytes, copied.
  void setBytes(const void* bytes, NS::UInteger length, NS::UInteger index);
  void setComputePipelineState(const MTL::ComputePipelineState* state);
  void setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index);
  void updateFence(const MTL::Fence* fence);
  void useResource(const MTL::Resource* resource, MTL::ResourceUsage usage);
  void useResources(const MTL::Resource* const resources[], NS::UInteger count, MTL::ResourceUsage usage);
  void waitForFence(const MTL::Fence* fence);
};

}  // namespace MTL
