// A kernel ready to be launched.
#pragma once

#include "Metal/MTLLibrary.hpp"
#include "Metal/MTLResource.hpp"

namespace MTL {

using PipelineOption = NS::UInteger;
enum : PipelineOption {
  PipelineOptionNone = 0,
  PipelineOptionArgumentInfo = 1,
  PipelineOptionBindingInfo = 1,
  PipelineOptionBufferTypeInfo = 2,
  PipelineOptionFailOnBinaryArchiveMiss = 4,
};

// Never made here: reflection stays nil.
class ComputePipelineReflection : public NS::Referencing<ComputePipelineReflection> {};
using AutoreleasedComputePipelineReflection = ComputePipelineReflection*;

class ComputePipelineDescriptor : public NS::Copying<ComputePipelineDescriptor> {
 public:
  static ComputePipelineDescriptor* alloc();
  ComputePipelineDescriptor* init();
  Function* computeFunction() const;
  NS::String* label() const;
  NS::UInteger maxTotalThreadsPerThreadgroup() const;
  void reset();
  void setComputeFunction(const MTL::Function* computeFunction);
  void setLabel(const NS::String* label);
  void setMaxTotalThreadsPerThreadgroup(NS::UInteger maxTotalThreadsPerThreadgroup);
  void setSupportIndirectCommandBuffers(bool supportIndirectCommandBuffers);
  void setThreadGroupSizeIsMultipleOfThreadExecutionWidth(bool threadGroupSizeIsMultipleOfThreadExecutionWidth);
  bool supportIndirectCommandBuffers() const;
  bool threadGroupSizeIsMultipleOfThreadExecutionWidth() const;
};

class ComputePipelineState : public NS::Referencing<ComputePipelineState, Allocation> {
 public:
  Device* device() const;
  ResourceID gpuResourceID() const;
  NS::String* label() const;
  NS::UInteger maxTotalThreadsPerThreadgroup() const;
  NS::UInteger staticThreadgroupMemoryLength() const;
  bool supportIndirectCommandBuffers() const;
  NS::UInteger threadExecutionWidth() const;
};

}  // namespace MTL
