// What stands before the data of a GGUF file: magic, version, counts, metadata, tensor descriptions.
//
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3, little-endian. Here it is read
// strictly: every count and length is compared with the bytes that are left before anything is sized by it, and the
// place of every tensor, whatever its type, with what the file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "core/shape.h"
#include "weights/gguf_values.h"

namespace chiaro {

inline constexpr uint32_t kMaxGgufRank = 5;            // ggml's own limit is 4; video models' files have 5
inline constexpr uint64_t kMaxGgufTensors = 262'144;   // the largest files have some 10,000
inline constexpr uint64_t kMaxGgufNameBytes = 65'535;  // of a key or a tensor's name
inline constexpr uint64_t kMaxGgufAlignment = 65'536;  // bytes
inline constexpr uint64_t kDefaultGgufAlignment = 32;  // bytes, where general.alignment is not there
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";
// Followed by a tensor's name: its shape before it was laid out anew so that blocks divide its rows, or so that four
// dimensions suffice. Written by the converters of ComfyUI-GGUF.
inline constexpr std::string_view kGgufShapeKey = "comfy.gguf.orig_shape.";

struct GgufEntry {
  std::string name;
  uint32_t type_code = 0;      // as the file has it
  std::optional<DType> dtype;  // empty: not usable, see `skip_reason`
  Shape shape;                 // row-major (the file has the fastest dimension first), as it was before kGgufShapeKey
  uint64_t offset = 0;         // within the data
  uint64_t bytes = 0;          // 0 for an unknown type
  std::string skip_reason;     // "unsupported type IQ2_XS", "unknown type 77"
};

// What holds of every header that was accepted: names and keys are unique; every entry lies inside the data, at a
// multiple of `alignment`; entries do not overlap, and between them is nothing but padding; a block divides the rows of
// the file's own shape. A restored shape may have rows that a block does not divide; its elements are then still those
// of the dense run of blocks.
struct GgufHeader {
  uint32_t version = 0;
  uint64_t alignment = kDefaultGgufAlignment;
  GgufMetadata metadata;
  std::vector<GgufEntry> entries;  // in the file's order
  uint64_t data_start = 0;         // offset of the data in the file
  uint64_t unused_bytes = 0;       // after the last tensor and its padding
};

// `file` is the whole file, `owner` keeps it alive for lists in the metadata, `path` is only for messages. Memory used
// is proportional to the header.
// Errors: bad_file naming the key or tensor, the place in the file, and what the file holds; unsupported (version 1,
// big-endian).
Result<GgufHeader> parse_gguf_header(std::span<const std::byte> file, std::string_view path,
                                     std::shared_ptr<const void> owner = nullptr);

}  // namespace chiaro
