// Which instruction sets the CPU kernels are compiled for. Include before any Highway header.
//
// Full builds: SSE4, AVX2 and AVX3 (AVX-512) on x86, chosen at run time; NEON on Arm. AVX3_DL adds only integer
// instructions that no kernel here uses. CHIARO_ONE_TARGET (quick development builds): AVX2 or NEON alone.
#pragma once

#if defined(__x86_64__) || defined(_M_X64)
#if defined(CHIARO_ONE_TARGET)
#define HWY_BASELINE_TARGETS HWY_AVX2
#define HWY_DISABLED_TARGETS (HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_WANT_SSE4 1
#endif
#elif defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

// Before a loop over an array of vectors that registers should hold: unrolled early, its elements are single variables.
// GCC leaves the array in memory else, and writes and reads all of it before and after the loop that counts.
#if defined(__clang__)
#define CHIARO_UNROLL _Pragma("unroll")
#else
#define CHIARO_UNROLL _Pragma("GCC unroll 16")
#endif
