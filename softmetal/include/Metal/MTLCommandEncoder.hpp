// What all encoders have. An encoder records; nothing runs before its command buffer is committed.
#pragma once

#include "Metal/MTLResource.hpp"

namespace MTL {

class Buffer;
class Fence;

using ResourceUsage = NS::UInteger;
enum : ResourceUsage { ResourceUsageRead = 1, ResourceUsageWrite = 2, ResourceUsageSample = 4 };

using BarrierScope = NS::UInteger;
enum : BarrierScope { BarrierScopeBuffers = 1, BarrierScopeTextures = 2, BarrierScopeRenderTargets = 4 };

enum DispatchType : NS::UInteger {
  DispatchTypeSerial = 0,      // every command sees what those before it wrote
  DispatchTypeConcurrent = 1,  // commands run side by side; barriers order them
};

class CommandEncoder : public NS::Referencing<CommandEncoder> {
 public:
  Device* device() const;
  void endEncoding();
  void insertDebugSignpost(const NS::String* string);
  NS::String* label() const;
  void popDebugGroup();
  void pushDebugGroup(const NS::String* string);
  void setLabel(const NS::String* label);
};

}  // namespace MTL
