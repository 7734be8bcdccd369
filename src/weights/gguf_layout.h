// Where the tensors of a GGUF file lie. Internal to the reader and writer.
#pragma once

#include <cstdint>
#include <string_view>

#include "weights/gguf_header.h"

namespace chiaro {

// `value` rounded up to a multiple of `alignment`, a power of two. Requires value < 2^63.
inline uint64_t gguf_padded(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// Takes a header as it was read, `data_start` at the end of the last description; moves `data_start` behind the
// padding, restores shapes (kGgufShapeKey), counts unused bytes, and checks what gguf_header.h promises about names and
// places.
Status check_gguf_layout(GgufHeader& header, uint64_t file_bytes, std::string_view path);

}  // namespace chiaro
