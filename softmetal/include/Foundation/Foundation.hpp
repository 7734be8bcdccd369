// The part of Foundation that Metal's compute API needs, with metal-cpp's names and signatures.
#pragma once

#include "Foundation/NSArray.hpp"
#include "Foundation/NSAutoreleasePool.hpp"
#include "Foundation/NSDictionary.hpp"
#include "Foundation/NSError.hpp"
#include "Foundation/NSObject.hpp"
#include "Foundation/NSRange.hpp"
#include "Foundation/NSSharedPtr.hpp"
#include "Foundation/NSString.hpp"
#include "Foundation/NSTypes.hpp"
