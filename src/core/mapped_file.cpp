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
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace chiaro
