#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace chiaro {
namespace {

Error no_memory(const std::filesystem::path& path) {
  return {ErrorCode::out_of_memory, "no memory to map \"" + path.string() + "\"", "the system refused address space",
          "close other programs, or raise the limit on memory (ulimit -v)", path.string()};
}

Error file_error(const std::filesystem::path& path, std::string why) {
  return {ErrorCode::io, "cannot read \"" + path.string() + "\"", std::move(why), "check the path and its permissions",
          path.string()};
}

int64_t time_of(const struct stat& info) {
#ifdef __APPLE__
  const timespec& time = info.st_mtimespec;
#else
  const timespec& time = info.st_mtim;
#endif
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return file_error(path, std::strerror(errno));
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return file_error(path, S_ISDIR(info.st_mode) ? "it is a folder" : "it is not a regular file");
  }
  std::span<const std::byte> bytes;
  if (info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* base = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED) {
      const int refused = errno;
      ::close(fd);
      if (refused == ENOMEM) return no_memory(path);
      return file_error(path, std::strerror(refused));
    }
    bytes = {static_cast<const std::byte*>(base), size};
  }
  ::close(fd);  // the mapping stays
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes, time_of(info)));
}

void MappedFile::prefetch() const {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0 || bytes_.size() / static_cast<size_t>(page) > static_cast<size_t>(pages) / 2) return;
  if (!bytes_.empty()) ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_WILLNEED);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace chiaro
