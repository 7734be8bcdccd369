// Block-quantised formats: decoding to f32 and encoding from f32. dtype.h has their sizes.
//
// A block is a run of 32, 64 or 256 neighbours of a row that share scales. Layouts are ggml's and GGUF's; decoding is
// bit-equal to the `gguf` Python package (NaN for NaN). docs/quantisation.md describes the formats and their error.
// Thread rule: pure functions. Nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace chiaro {

// Elements [first, first + count) of a dense run of blocks that begins at `blocks`, at any byte alignment. `first` and
// `count` need not be whole blocks; multiples of 32 are fast. A plain type is decoded too.
void decode_blocks(DType dtype, const std::byte* blocks, int64_t first, int64_t count, float* out);

// Encodes `count` elements, a multiple of the block, to count / block_elements * block_bytes bytes. The codes are
// chosen for a small sum of squared errors. Equal input gives equal bytes. What is not finite is encoded as if it were
// 0 (NaN) or the largest finite number: callers that must not lose it check first. A plain type is rounded to nearest
// even.
void encode_blocks(DType dtype, const float* in, int64_t count, std::byte* blocks);

}  // namespace chiaro
