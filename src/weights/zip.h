// The directory of a zip archive: which entries there are and where their bytes lie. Nothing is decompressed.
//
// Format: PKWARE's APPNOTE 6.3.10, with the 64-bit sizes of section 4.5.3. PyTorch stores all entries as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"

namespace chiaro {

inline constexpr uint64_t kMaxZipEntries = 262'144;  // the largest checkpoints have some 10,000

struct ZipEntry {
  std::string name;
  uint64_t offset = 0;  // of its bytes, in the file
  uint64_t bytes = 0;
  bool plain = true;  // neither compressed nor encrypted: the bytes are its content
};

// Entries in the order of their names. What holds of every directory that was accepted: names are unique; every entry
// lies inside the file before the directory and shares no byte with another. Checksums are not compared: that would
// read the whole file. `path` is only for messages.
// Errors: bad_file naming the entry; unsupported (archives of several files).
Result<std::vector<ZipEntry>> read_zip_directory(std::span<const std::byte> file, std::string_view path);

}  // namespace chiaro
