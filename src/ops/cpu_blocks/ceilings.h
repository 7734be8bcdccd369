// What this machine can do at most, measured: the yardsticks that benchmarks print percentages of.
#pragma once

#include "core/thread_pool.h"

namespace chiaro {

// Fused multiply-adds on registers alone, all threads of the pool at once, best of several runs of a few milliseconds:
// GFLOP/s (two per multiply-add), with the vector instructions that the kernels use.
double measure_fma_peak_gflops(ThreadPool& pool);
// Copies between two buffers far larger than the caches, with memcpy or past the caches (stream_copy.h): GB/s, bytes
// read plus bytes written. 0 if memory is refused.
double measure_copy_bandwidth_gbs(ThreadPool& pool, bool past_caches = false);

}  // namespace chiaro
