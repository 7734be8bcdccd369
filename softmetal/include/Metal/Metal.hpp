// Metal's compute API with metal-cpp's names and signatures, on the software GPU. README.md beside this folder says how
// to use it, and what it checks.
#pragma once

// Whether this is softmetal: a program may ask.
#define SOFTMETAL 1

#include "Metal/MTLBlitCommandEncoder.hpp"
#include "Metal/MTLBuffer.hpp"
#include "Metal/MTLCommandBuffer.hpp"
#include "Metal/MTLCommandEncoder.hpp"
#include "Metal/MTLCommandQueue.hpp"
#include "Metal/MTLComputeCommandEncoder.hpp"
#include "Metal/MTLComputePipeline.hpp"
#include "Metal/MTLDevice.hpp"
#include "Metal/MTLEvent.hpp"
#include "Metal/MTLFence.hpp"
#include "Metal/MTLFunctionConstantValues.hpp"
#include "Metal/MTLLibrary.hpp"
#include "Metal/MTLResidencySet.hpp"
#include "Metal/MTLResource.hpp"
#include "Metal/MTLTypes.hpp"
