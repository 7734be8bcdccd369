// A stretch of bytes. The memory of a new private buffer holds nothing: kernels that read it before it is written fail.
#pragma once

#include "Metal/MTLResource.hpp"

namespace MTL {

class Buffer : public NS::Referencing<Buffer, Resource> {
 public:
  // The CPU's view, as long as the buffer lives. Nil, and a fault, for private storage.
  void* contents();
  // Managed storage only: carries what the CPU wrote over to the GPU.
  void didModifyRange(NS::Range range);
  uint64_t gpuAddress() const;
  NS::UInteger length() const;
  // Kept with the buffer's label in reports.
  void addDebugMarker(const NS::String* marker, NS::Range range);
  void removeAllDebugMarkers();
};

}  // namespace MTL
