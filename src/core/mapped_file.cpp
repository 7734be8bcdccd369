#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace chiaro {
namespace {

Error file_error(const std::filesystem::path& path, std::string why) {
  return {ErrorCode::io, "cannot read \"" + path.string() + "\"", std::move(why), "check the path and its permissions",
          path.string()};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
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
      const std::string why = std::strerror(errno);
      ::close(fd);
      return file_error(path, why);
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
