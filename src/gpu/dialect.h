// The kernel dialect: one text that is Metal Shading Language after preprocessing, CUDA C++ under nvcc, and C++ for the
// software GPU. docs/kernels.md says how to write in it; the three expansions must define the same names.
//
//   GPU_CONSTANT(uint, X_TYPE, 0);  // values: GPU_F32, GPU_F16, GPU_BF16     a function constant: a variant each
//   GPU_KERNEL(double_it, NEEDS_NOTHING, 0, GPU_IN_ANY(x, 0), GPU_OUT(float, y, 1), GPU_ARGS(DoubleArgs, a, 2)) {
//     const uint i = gpu_group.x * gpu_threads + gpu_thread;
//     if (i < a.count) y[i] = 2.0f * load(x, X_TYPE, i);
//   }
//   GPU_KERNELS(double_op, double_it)                 the last line: the op's name and every kernel of the file
//
// GPU_KERNEL(name, needs, threadgroup bytes, parameters): the bytes are the sum of its GROUP_ARRAYs, each rounded up to
// 16. Parameters: GPU_IN(T, name, slot), GPU_OUT(T, name, slot), GPU_IN_ANY and GPU_OUT_ANY(name, slot) (element type
// chosen by a constant: load and store), and at most one GPU_ARGS(T, name, slot) after the buffers.
// In a kernel: gpu_thread, gpu_threads, gpu_lane, gpu_simd, gpu_simds (uint), gpu_group, gpu_groups (.x .y .z).
#pragma once

// What a kernel needs of the GPU beside threads (GpuNeed in gpu/dispatch.h has the same values).
#define NEEDS_NOTHING 0u
#define NEEDS_SIMD_REDUCE 1u  // simd_sum, simd_max, simd_min, simd_shuffle, simd_shuffle_xor, simd_broadcast
#define NEEDS_SIMD_MATRIX 2u  // SIMD_MATRIX and its functions
#define NEEDS_BARRIER 4u      // barriers in a kernel without threadgroup memory

// Element types, as constants of kernels; the values are those of DType.
#define GPU_F32 0u
#define GPU_F16 1u
#define GPU_BF16 2u
#define GPU_E4M3 3u
#define GPU_E5M2 4u
#define GPU_I8 5u
#define GPU_I32 6u
#define GPU_Q4_0 7u  // from here on block formats: gpu/blocks.h
#define GPU_Q4_1 8u
#define GPU_Q5_0 9u
#define GPU_Q5_1 10u
#define GPU_Q8_0 11u
#define GPU_Q2_K 12u
#define GPU_Q3_K 13u
#define GPU_Q4_K 14u
#define GPU_Q5_K 15u
#define GPU_Q6_K 16u
#define GPU_IQ4_NL 17u
#define GPU_IQ4_XS 18u
#define GPU_MXFP4 19u
#define GPU_NVFP4 20u
#define GPU_ABSENT 255u  // no tensor is there; kGpuAbsent in ops/gpu_kernel.h

#if defined(GPU_MSL)
#include "gpu/dialect_msl.h"
#elif defined(__CUDACC__)
#include "gpu/dialect_cuda.h"
#else
#include "gpu/soft/dialect_soft.h"
#endif
#include "gpu/dialect_library.h"
