// The one place where Apple's metal-cpp is told to define what it declares.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include "backend/metal/metal_api.h"
