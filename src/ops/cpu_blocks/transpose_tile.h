// Transposes one square tile of 32-bit or 16-bit elements, dispatched to the best instruction set at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chiaro {

inline constexpr int64_t kTileBytes = 64;  // a tile's row: one cache line

// Rows of 64 bytes, as many as a row has elements: target[t][i] = source[i][t]. Steps in bytes. No overlap.
void transpose_tile32(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step);
void transpose_tile16(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step);

}  // namespace chiaro
