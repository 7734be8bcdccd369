// Types of argument structs, which host code and kernels share: 32-bit scalars and arrays of them, no padding. Such a
// struct stands in namespace chiaro, in a header that includes nothing but this file and its like.
#pragma once

#if defined(GPU_MSL) || defined(__CUDACC__)
typedef unsigned int gpu_uint32;
typedef int gpu_int32;
#else
#include <cstdint>
using gpu_uint32 = uint32_t;
using gpu_int32 = int32_t;
#endif

namespace chiaro {
typedef gpu_uint32 u32;
typedef gpu_int32 s32;
}  // namespace chiaro
