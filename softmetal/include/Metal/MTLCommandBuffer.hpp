// Encoded work, committed once, run on another thread in the order of its queue.
#pragma once

#include <functional>

#include "Metal/MTLCommandEncoder.hpp"

namespace MTL {

class BlitCommandEncoder;
class CommandBuffer;
class CommandQueue;
class ComputeCommandEncoder;
class Event;
class ResidencySet;

enum CommandBufferStatus : NS::UInteger {
  CommandBufferStatusNotEnqueued = 0,
  CommandBufferStatusEnqueued = 1,
  CommandBufferStatusCommitted = 2,
  CommandBufferStatusScheduled = 3,
  CommandBufferStatusCompleted = 4,
  CommandBufferStatusError = 5,
};

// Codes of error(), in the domain "MTLCommandBufferErrorDomain".
enum CommandBufferError : NS::UInteger {
  CommandBufferErrorNone = 0,
  CommandBufferErrorInternal = 1,
  CommandBufferErrorTimeout = 2,
  CommandBufferErrorPageFault = 3,
  CommandBufferErrorBlacklisted = 4,
  CommandBufferErrorAccessRevoked = 4,
  CommandBufferErrorNotPermitted = 7,
  CommandBufferErrorOutOfMemory = 8,
  CommandBufferErrorInvalidResource = 9,
  CommandBufferErrorMemoryless = 10,
  CommandBufferErrorDeviceRemoved = 11,
  CommandBufferErrorStackOverflow = 12,
};

using CommandBufferErrorOption = NS::UInteger;
enum : CommandBufferErrorOption {
  CommandBufferErrorOptionNone = 0,
  CommandBufferErrorOptionEncoderExecutionStatus = 1,
};

using HandlerFunction = std::function<void(CommandBuffer*)>;

class CommandBufferDescriptor : public NS::Copying<CommandBufferDescriptor> {
 public:
  static CommandBufferDescriptor* alloc();
  CommandBufferDescriptor* init();
  CommandBufferErrorOption errorOptions() const;
  bool retainedReferences() const;
  void setErrorOptions(MTL::CommandBufferErrorOption errorOptions);
  void setRetainedReferences(bool retainedReferences);
};

class CommandBuffer : public NS::Referencing<CommandBuffer> {
 public:
  CFTimeInterval GPUEndTime() const;  // seconds of the host's clock; 0 before it ended
  CFTimeInterval GPUStartTime() const;
  // Called from the queue's thread, in the order in which they were added, inside an autorelease pool.
  void addCompletedHandler(const MTL::HandlerFunction& function);
  void addScheduledHandler(const MTL::HandlerFunction& function);
  BlitCommandEncoder* blitCommandEncoder();
  CommandQueue* commandQueue() const;
  void commit();
  ComputeCommandEncoder* computeCommandEncoder();
  ComputeCommandEncoder* computeCommandEncoder(MTL::DispatchType dispatchType);
  Device* device() const;
  void encodeSignalEvent(const MTL::Event* event, uint64_t value);
  void encodeWait(const MTL::Event* event, uint64_t value);
  void enqueue();
  // Nil unless status() is CommandBufferStatusError.
  NS::Error* error() const;
  CommandBufferErrorOption errorOptions() const;
  CFTimeInterval kernelEndTime() const;
  CFTimeInterval kernelStartTime() const;
  NS::String* label() const;
  void popDebugGroup();
  void pushDebugGroup(const NS::String* string);
  bool retainedReferences() const;
  void setLabel(const NS::String* label);
  CommandBufferStatus status() const;
  void useResidencySet(const MTL::ResidencySet* residencySet);
  void useResidencySets(const MTL::ResidencySet* const residencySets[], NS::UInteger count);
  // Returns when the work has ended and every completion handler has returned.
  void waitUntilCompleted();
  void waitUntilScheduled();
};

}  // namespace MTL
