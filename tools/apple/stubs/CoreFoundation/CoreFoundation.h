// The types of Core Foundation that metal-cpp names.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef double CFTimeInterval;
typedef const void* CFTypeRef;
typedef const struct __CFString* CFStringRef;
#define CF_EXPORT extern
