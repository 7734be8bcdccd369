// Finding a Metal device by the name that the engine has for it.
#pragma once

#include "backend/metal/metal_api.h"
#include "backend/metal/metal_device.h"

namespace chiaro {

// Errors: usage for a device that there is not, naming those that there are.
Result<NS::SharedPtr<MTL::Device>> find_metal_device(const MetalDeviceOptions& options);

}  // namespace chiaro
