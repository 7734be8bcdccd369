// Files appear whole or not at all.
#include "core/atomic_file.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "weights/crafted.h"

namespace chiaro {
namespace {

using testing::error_has;
using testing::read_file;
using testing::TempFolder;
using testing::write_file;

size_t files_in(const std::filesystem::path& folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

// Lets no file of this process grow beyond `bytes`: the kernel then answers as it does on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &old_), 0);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

TEST(AtomicFile, AppearsOnCommitOnly) {
  const TempFolder folder;
  const auto path = folder / "out.bin";
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("hello ").ok());
  ASSERT_TRUE(file->write("world").ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read_file(path), "hello world");
  EXPECT_EQ(files_in(folder.path()), 1u);
  EXPECT_FALSE(file->write("more").ok());
  EXPECT_FALSE(file->commit().ok());
}

TEST(AtomicFile, LeavesTheOldFileWhenDropped) {
  const TempFolder folder;
  const auto path = write_file(folder / "out.bin", "old");
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new").ok());
    AtomicFile moved = std::move(*file);
    EXPECT_EQ(files_in(folder.path()), 2u);
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFile, FullDiskIsAnErrorAndLeavesNothing) {
  const TempFolder folder;
  const auto path = write_file(folder / "out.bin", "old");
  const std::string block(4096, 'x');
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    const FileSizeLimit limit(6000);
    ASSERT_TRUE(file->write(block).ok());
    const Status full = file->write(block);
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.error().code, ErrorCode::io);
    EXPECT_TRUE(error_has(full.error(), {"out.bin", "free some space"}));
    EXPECT_EQ(files_in(folder.path()), 1u);  // the temporary file is gone at once
    EXPECT_FALSE(file->write("x").ok());
    EXPECT_FALSE(file->commit().ok());
  }
  EXPECT_EQ(read_file(path), "old");
}

TEST(AtomicFile, KeepsPermissionsAndFollowsLinks) {
  const TempFolder folder;
  const auto real = write_file(folder / "real/out.bin", "old");
  std::filesystem::permissions(real, std::filesystem::perms(0640));
  std::filesystem::create_symlink(real, folder / "link.bin");
  auto file = AtomicFile::create(folder / "link.bin");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("new").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.bin"));
  EXPECT_EQ(read_file(real), "new");
  EXPECT_EQ(std::filesystem::status(real).permissions(), std::filesystem::perms(0640));
}

TEST(AtomicFile, WritesToADeviceWithoutReplacingIt) {
  auto file = AtomicFile::create("/dev/null");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("gone").ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  auto full = AtomicFile::create("/dev/full");
  if (!full.ok()) return;  // Linux only
  const Status status = full->write("no room");
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(error_has(status.error(), {"/dev/full", "free some space"}));
}

TEST(AtomicFile, LongAndForeignNames) {
  const TempFolder folder("тест 猫");
  const std::string longest(255, 'n');  // as long as Linux file systems allow
  for (const std::string& name : {longest, std::string("ü.bin")}) {
    auto file = AtomicFile::create(folder / name);
    ASSERT_TRUE(file.ok()) << file.error().format();
    ASSERT_TRUE(file->write("x").ok());
    ASSERT_TRUE(file->commit().ok());
    EXPECT_EQ(read_file(folder / name), "x");
  }
}

TEST(AtomicFile, RefusesFoldersAndMissingFolders) {
  const TempFolder folder;
  for (const auto& path : {folder.path(), folder / "missing/out.bin", folder / ""}) {
    const auto file = AtomicFile::create(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.error().code, ErrorCode::io);
  }
}

}  // namespace
}  // namespace chiaro
