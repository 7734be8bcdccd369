// Temporary file, fsync and rename (POSIX).
#include "core/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/utf8_path.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".chiaro-", kSuffix = ".tmp";

Error write_error(const fs::path& path, int error_number, std::string_view action) {
  const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  return {ErrorCode::io, "cannot write \"" + path_to_utf8(path) + "\"",
          std::string(action) + ": " + std::strerror(error_number),
          full ? "free some space or choose another folder; no partial file was left"
               : "check that the folder exists and may be written",
          path_to_utf8(path)};
}

// The file that a rename onto `path` should replace: the end of a chain of symbolic links, else `path` itself.
fs::path follow_links(const fs::path& path) {
  std::error_code ec;
  if (!fs::is_symlink(path, ec)) return path;
  fs::path target = fs::weakly_canonical(path, ec);
  return ec ? path : target;
}

// Opens a new file in `folder`. Its name is short and not made from the target's, which may already be as long as the
// file system allows. Returns -1 with errno set.
int open_temporary(const fs::path& folder, fs::path& name) {
  const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string stem = std::string(kPrefix) + std::to_string(::getpid()) + "-" + std::to_string(ticks) + "-";
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = folder / (stem + std::to_string(attempt) + std::string(kSuffix));
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// Makes the rename itself survive a power cut. Some file systems refuse to sync a folder: that is not our failure.
void sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)::fsync(fd);
  ::close(fd);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const fs::path& path) {
  const fs::path target = follow_links(path);
  std::error_code ec;
  const fs::file_status status = fs::status(target, ec);
  // A name that is too long, a loop of links, a folder that may not be searched: the rename at the end would fail.
  if (status.type() == fs::file_type::none) return write_error(path, ec.value(), "looking at it");
  if (!target.has_filename() || fs::is_directory(status)) return write_error(path, EISDIR, "it is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    // A named pipe that nobody reads would make open() wait for ever, through SIGINT too.
    const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return write_error(path, errno, "opening it");
    ::fcntl(fd, F_SETFL, 0);  // writing may wait
    return AtomicFile(target, {}, fd);
  }
  // A file that the user made read-only is kept, although the folder would allow to replace it.
  if (fs::exists(status) && ::access(target.c_str(), W_OK) != 0) return write_error(path, errno, "replacing it");
  fs::path temporary;
  const int fd = open_temporary(folder_of(target), temporary);
  if (fd < 0) return write_error(path, errno, "opening a temporary file beside it");
  if (fs::is_regular_file(status)) fs::permissions(temporary, status.permissions(), ec);
  return AtomicFile(target, std::move(temporary), fd);
}

bool AtomicFile::is_temporary(std::string_view name) {
  return name.starts_with(kPrefix) && name.ends_with(kSuffix);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      failed_(other.failed_) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    discard();
    target_ = std::move(other.target_);
    temporary_ = std::move(other.temporary_);
    fd_ = std::exchange(other.fd_, -1);
    failed_ = other.failed_;
  }
  return *this;
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() noexcept {
  if (fd_ < 0) return;
  ::close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Error AtomicFile::fail(int error_number, std::string_view action) {
  failed_ = error_number;
  discard();
  return write_error(target_, error_number, action);
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  if (failed_ != 0) return write_error(target_, failed_, "an earlier write failed");
  if (fd_ < 0) return write_error(target_, EBADF, "it is already finished");
  while (!bytes.empty()) {
    // Linux and macOS refuse single writes of 2 GiB and more.
    const size_t chunk = std::min<size_t>(bytes.size(), size_t{1} << 30);
    const ssize_t written = ::write(fd_, bytes.data(), chunk);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(errno, "writing");
    if (written == 0) return fail(ENOSPC, "writing");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status AtomicFile::write(std::string_view text) {
  return write(std::as_bytes(std::span(text.data(), text.size())));
}

Status AtomicFile::commit() {
  if (failed_ != 0) return write_error(target_, failed_, "an earlier write failed");
  if (fd_ < 0) return write_error(target_, EBADF, "it is already finished");
  // Pipes and devices answer EINVAL: there is nothing to flush.
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != ENOTSUP) return fail(errno, "flushing");
  if (::close(std::exchange(fd_, -1)) != 0) {
    failed_ = errno;
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    return write_error(target_, failed_, "closing");
  }
  if (temporary_.empty()) return {};
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    failed_ = errno;
    ::unlink(temporary_.c_str());
    return write_error(target_, failed_, "renaming the finished file into place");
  }
  sync_folder(folder_of(target_));
  return {};
}

Status write_file(const fs::path& path, std::span<const std::byte> bytes) {
  CHIARO_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHIARO_TRY(file.write(bytes));
  return file.commit();
}

Status write_file(const fs::path& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span<const char>(text.data(), text.size())));
}

}  // namespace chiaro
