// A read-only memory mapping of a whole file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "chiaro/error.h"

namespace chiaro {

// Thread rule: immutable after open; share freely through shared_ptr.
class MappedFile {
 public:
  // Errors: io where the file is missing, unreadable or a directory. An empty file maps to an empty span.
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }
  // Asks the system to read all of it now, in the background; nothing where it would take half of the memory.
  void prefetch() const;
  // When the file was last written, as it was opened: nanoseconds since 1970.
  int64_t changed_ns() const { return changed_ns_; }

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes, int64_t changed_ns)
      : path_(std::move(path)), bytes_(bytes), changed_ns_(changed_ns) {}
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
  int64_t changed_ns_ = 0;
};

}  // namespace chiaro
