// Orders encoders of one queue: what comes after waitForFence runs after what came before updateFence.
#pragma once

#include "Metal/MTLTypes.hpp"

namespace MTL {

class Device;

class Fence : public NS::Referencing<Fence> {
 public:
  Device* device() const;
  NS::String* label() const;
  void setLabel(const NS::String* label);
};

}  // namespace MTL
