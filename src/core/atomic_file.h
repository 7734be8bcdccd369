// A file that appears whole or not at all: written beside its place, then renamed onto it.
//
// Without it a full disk or a crash leaves half a picture or half a model that the next reader takes for finished.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "chiaro/error.h"

namespace chiaro {

// Usage: create, write (as often as needed), commit. Destroyed without a successful commit, it removes what it wrote
// and leaves the old file, if there was one, untouched. Movable. Thread rule: one thread at a time.
class AtomicFile {
 public:
  // Opens a temporary file in the folder of `path`. A symbolic link is followed, so the file it names is replaced. A
  // target that is neither missing nor a regular file (/dev/null, a pipe) cannot be replaced: it is written directly.
  // Errors: io where the folder is missing or not writable, or `path` is a folder.
  static Result<AtomicFile> create(const std::filesystem::path& path);

  // Whether a file of this name is one that is being written, or what a process that was killed left of it.
  static bool is_temporary(std::string_view name);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  // Appends. Errors: io (disk full, quota); later writes and commit then fail with the same error.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  // Flushes to the disk and puts the file in its place. Errors: io; nothing is then left behind.
  Status commit();
  // Closes and removes what was written; harmless to call twice.
  void discard() noexcept;

 private:
  AtomicFile(std::filesystem::path target, std::filesystem::path temporary, int fd)
      : target_(std::move(target)), temporary_(std::move(temporary)), fd_(fd) {}
  Error fail(int error_number, std::string_view action);

  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty when `target_` is written directly
  int fd_ = -1;
  int failed_ = 0;  // errno of the first failure
};

// A whole file of contents that are in memory. Errors: as those of create, write and commit.
Status write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
Status write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace chiaro
