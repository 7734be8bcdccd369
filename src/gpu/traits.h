// What a GPU can do and how fast it is, as data: read from src/gpu/profiles/*.json for the software GPU, asked from the
// driver for a real one. Kernels' plan() looks at nothing else, so any host can say what any of these GPUs supports.
#pragma once

#include <cstdint>

namespace chiaro::gpu {

struct Traits {
  bool simd_reduce = false;  // simdgroup reductions, shuffles and broadcasts
  bool simd_matrix = false;  // 8x8 simdgroup matrices
  bool bf16 = false;         // bfloat arithmetic; bf16 storage is decoded with integer operations everywhere
  int max_threads = 1024;    // of a threadgroup
  int64_t threadgroup_bytes = 32768;
  int64_t max_buffer_bytes = int64_t{1} << 31;
  double watchdog_seconds = 2;  // a launch that takes longer may be killed
  double bandwidth_gbs = 0;     // memory, in 1e9 bytes a second; 0: not known
  double tflops_f32 = 0, tflops_f16 = 0;
  double launch_us = 0;  // what a launch costs beside its work
  int cores = 1;
};

}  // namespace chiaro::gpu
