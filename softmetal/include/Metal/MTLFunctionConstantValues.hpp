// MTL::FunctionConstantValues.
#pragma once

#include "Metal/MTLLibrary.hpp"
