// Memory of a device.
#pragma once

#include "Metal/MTLTypes.hpp"

namespace MTL {

class Device;
class Heap;

enum PurgeableState : NS::UInteger {
  PurgeableStateKeepCurrent = 1,
  PurgeableStateNonVolatile = 2,
  PurgeableStateVolatile = 3,
  PurgeableStateEmpty = 4,
};

enum CPUCacheMode : NS::UInteger { CPUCacheModeDefaultCache = 0, CPUCacheModeWriteCombined = 1 };

enum StorageMode : NS::UInteger {
  StorageModeShared = 0,   // one memory for CPU and GPU
  StorageModeManaged = 1,  // two copies: didModifyRange and synchronizeResource carry changes over
  StorageModePrivate = 2,  // the GPU's alone
  StorageModeMemoryless = 3,
};

enum HazardTrackingMode : NS::UInteger {
  HazardTrackingModeDefault = 0,
  HazardTrackingModeUntracked = 1,
  HazardTrackingModeTracked = 2,
};

using ResourceOptions = NS::UInteger;
enum : ResourceOptions {
  ResourceCPUCacheModeDefaultCache = 0,
  ResourceCPUCacheModeWriteCombined = 1,
  ResourceStorageModeShared = 0,
  ResourceStorageModeManaged = 16,
  ResourceStorageModePrivate = 32,
  ResourceStorageModeMemoryless = 48,
  ResourceHazardTrackingModeDefault = 0,
  ResourceHazardTrackingModeUntracked = 256,
  ResourceHazardTrackingModeTracked = 512,
  ResourceOptionCPUCacheModeDefault = 0,
  ResourceOptionCPUCacheModeWriteCombined = 1,
};

class Allocation : public NS::Referencing<Allocation> {
 public:
  NS::UInteger allocatedSize() const;
};

class Resource : public NS::Referencing<Resource, Allocation> {
 public:
  NS::UInteger allocatedSize() const;
  CPUCacheMode cpuCacheMode() const;
  Device* device() const;
  HazardTrackingMode hazardTrackingMode() const;
  NS::String* label() const;
  ResourceOptions resourceOptions() const;
  void setLabel(const NS::String* label);
  PurgeableState setPurgeableState(MTL::PurgeableState state);
  StorageMode storageMode() const;
};

}  // namespace MTL
