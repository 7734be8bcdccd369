// Convolution with a 3x3 window and stride 1 by Winograd's F(4x4, 3x3): 36 multiplications for 16 results of a pair of
// channels instead of 144,
//
//   Y = A^T [ (G g G^T) . (B^T d B) ] A,   summed over the channels before A is applied,
//
// for tiles of 6x6 pixels d that overlap by two. The points of the interpolation are 0, +-sqrt(1/2), +-sqrt(2) and
// infinity: their constants are the smallest of the symmetrical choices, so that little cancels. Source: Lavin and
// Gray, "Fast algorithms for convolutional neural networks", arXiv:1509.09308; choice of points: Barabasz et al.,
// "Error analysis and improving the accuracy of Winograd convolution", ACM TOMS 2020.
//
// Error: with u = 2^-24 and C channels, |error| <= (C + 24) u |A^T| [sum_c (|G| |g| |G^T|) . (|B^T| |d| |B|)] |A|,
// element by element. On normal numbers, C = 320, it is 1.7e-6 of the results' root mean square, at most 1.1e-5; the
// direct sum has 1.0e-6 (tests/ops_blocks/winograd_test.cpp).
//
// Memory: some 16 MiB of transformed pixels, or at most 4 MiB of transformed weights, and some 4 MiB a worker
// (winograd_cut.h), all in scratch: nothing stays.
// Determinism: as gemm(): a tile's sums depend on nothing but its own pixels and on the number of channels.
// Thread rule and errors: as gemm().
#pragma once

#include <atomic>
#include <cstddef>

#include "core/thread_pool.h"
#include "ops/cpu_blocks/gemm.h"

namespace chiaro {

// Whether the window is one that winograd() takes: 3x3, steps of one pixel, more than a few columns.
bool winograd_takes(const GemmProblem& problem);
// Whether it is faster than gemm(): by channels and the extents of one picture, never by how many pictures there are.
bool winograd_pays(const GemmProblem& problem);

// What threads share out at once: kGemmMinChunks or more, where the tiles and the columns can be cut so far.
int64_t winograd_chunks(const GemmProblem& problem);
size_t winograd_scratch_bytes(const GemmProblem& problem, int threads);
// As gemm(). `problem` may have its weight packed by gemm_pack_b.
void winograd(const GemmProblem& problem, std::byte* scratch, ThreadPool& pool,
              const std::atomic<bool>* cancel = nullptr);

}  // namespace chiaro
