// A GPU. Which ones there are, and what they can do: softmetal/softmetal.h.
#pragma once

#include <functional>

#include "Metal/MTLComputePipeline.hpp"
#include "Metal/MTLResource.hpp"
#include "Metal/MTLTypes.hpp"

namespace softmetal {

// What a block is for metal-cpp: pass nil, or anything that is called with (void*, NS::UInteger). Only nil, and a block
// where the compiler has them, compile against Apple's headers too.
using Deallocator = std::function<void(void*, NS::UInteger)>;

}  // namespace softmetal

namespace MTL {

class Buffer;
class CommandQueue;
class Event;
class Fence;
class ResidencySet;
class ResidencySetDescriptor;
class SharedEvent;

enum GPUFamily : NS::Integer {
  GPUFamilyApple1 = 1001,
  GPUFamilyApple2 = 1002,
  GPUFamilyApple3 = 1003,
  GPUFamilyApple4 = 1004,
  GPUFamilyApple5 = 1005,
  GPUFamilyApple6 = 1006,
  GPUFamilyApple7 = 1007,
  GPUFamilyApple8 = 1008,
  GPUFamilyApple9 = 1009,
  GPUFamilyApple10 = 1010,
  GPUFamilyMac1 = 2001,
  GPUFamilyMac2 = 2002,
  GPUFamilyCommon1 = 3001,
  GPUFamilyCommon2 = 3002,
  GPUFamilyCommon3 = 3003,
  GPUFamilyMacCatalyst1 = 4001,
  GPUFamilyMacCatalyst2 = 4002,
  GPUFamilyMetal3 = 5001,
  GPUFamilyMetal4 = 5002,
};

enum DeviceLocation : NS::UInteger {
  DeviceLocationBuiltIn = 0,
  DeviceLocationSlot = 1,
  DeviceLocationExternal = 2,
  DeviceLocationUnspecified = NS::UIntegerMax,
};

class Device : public NS::Referencing<Device> {
 public:
  NS::UInteger currentAllocatedSize() const;
  bool hasUnifiedMemory() const;
  bool headless() const;
  DeviceLocation location() const;
  bool lowPower() const;
  NS::UInteger maxBufferLength() const;
  NS::UInteger maxThreadgroupMemoryLength() const;
  Size maxThreadsPerThreadgroup() const;
  NS::String* name() const;
  // Nil where the device has no memory for it, or its length is 0 or above maxBufferLength.
  Buffer* newBuffer(NS::UInteger length, MTL::ResourceOptions options);
  Buffer* newBuffer(const void* pointer, NS::UInteger length, MTL::ResourceOptions options);
  // No copy: pointer and length are multiples of the page size, storage is shared. The deallocator is called once, when
  // the buffer has gone.
  Buffer* newBuffer(const void* pointer, NS::UInteger length, MTL::ResourceOptions options,
                    const softmetal::Deallocator& deallocator);
  CommandQueue* newCommandQueue();
  CommandQueue* newCommandQueue(NS::UInteger maxCommandBufferCount);
  // Nil and an error where the GPU lacks what the kernel needs, or a constant has no value.
  ComputePipelineState* newComputePipelineState(const MTL::Function* computeFunction, NS::Error** error);
  ComputePipelineState* newComputePipelineState(const MTL::Function* computeFunction, MTL::PipelineOption options,
                                                const MTL::AutoreleasedComputePipelineReflection* reflection,
                                                NS::Error** error);
  ComputePipelineState* newComputePipelineState(const MTL::ComputePipelineDescriptor* descriptor,
                                                MTL::PipelineOption options,
                                                const MTL::AutoreleasedComputePipelineReflection* reflection,
                                                NS::Error** error);
  Event* newEvent();
  Fence* newFence();
  // Nil and an error, whose description is the compile log, unless the kernels of exactly this text are registered.
  Library* newLibrary(const NS::String* source, const MTL::CompileOptions* options, NS::Error** error);
  ResidencySet* newResidencySet(const MTL::ResidencySetDescriptor* desc, NS::Error** error);
  SharedEvent* newSharedEvent();
  uint64_t recommendedMaxWorkingSetSize() const;
  uint64_t registryID() const;
  bool removable() const;
  bool supportsFamily(MTL::GPUFamily gpuFamily);
};

// One count for the caller. Nil where there is no GPU.
Device* CreateSystemDefaultDevice();
NS::Array* CopyAllDevices();

}  // namespace MTL
