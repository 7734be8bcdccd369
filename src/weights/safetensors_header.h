// The header of a safetensors file: an 8-byte little-endian length, then that many bytes of JSON, then the data.
//
// Format: https://github.com/huggingface/safetensors#format. Here it is read strictly: whatever the header says is
// compared with what the file holds, for every tensor and whatever its dtype, before anything uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "core/shape.h"

namespace chiaro {

inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes; the limit of the reference reader
inline constexpr size_t kMaxSafetensorsTensors = 262'144;       // the largest checkpoints have some 10,000
inline constexpr int kMaxSafetensorsRank = 32;                  // above: refused; above kMaxRank: not usable

struct SafetensorsEntry {
  std::string name;
  std::string dtype_name;       // as the file spells it
  std::optional<DType> dtype;   // empty: not usable, see `skip_reason`
  Shape shape;                  // set where usable
  uint64_t begin = 0, end = 0;  // byte range within the data
  std::string skip_reason;      // "unsupported dtype I64", "unknown dtype "F6_E9"", "rank 7 is above 6"
};

// What holds of every header that was accepted: the entries, sorted by `begin`, tile the data without gap or overlap
// and end with the file; names are unique; of every dtype with a known width, end - begin is exactly the size of the
// shape.
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
  uint64_t data_start = 0;  // offset of the data in the file
};

// `file` is the whole file; `path` is only for messages. Memory used is proportional to the header.
// Errors: bad_file naming the tensor, its offsets and what the file holds.
Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> file, std::string_view path);

// The spelling of `dtype` in a header, or empty for a dtype that the format does not know (block formats).
std::string_view safetensors_dtype_name(DType dtype);

}  // namespace chiaro
