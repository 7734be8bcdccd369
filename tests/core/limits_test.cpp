// What the system refuses (threads, address space, names) and what is no regular file: errors, never the process's end.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <new>

#include "core/atomic_file.h"
#include "core/mapped_file.h"
#include "core/thread_pool.h"
#include "sanitized.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;

class Limits : public ::testing::Test {
 protected:
  Limits() {
    folder_ = fs::temp_directory_path() / ("chiaro-limits-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  ~Limits() override { fs::remove_all(folder_); }

  fs::path folder_;
};

int64_t sum_with(ThreadPool& pool, int64_t chunks) {
  std::atomic<int64_t> sum{0};
  pool.parallel_for(chunks, [&](int64_t chunk, int) { sum += chunk; });
  return sum;
}

// 64 MiB more than the tests use: room for a few stacks of threads, not for 256, and none for a large mapping.
void leave_little_memory() {
  rlim_t used = 0;
  std::ifstream("/proc/self/statm") >> used;
  const rlim_t limit = used * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t{64} << 20);
  const rlimit both{limit, limit};
  ::setrlimit(RLIMIT_AS, &both);
}

TEST_F(Limits, FewerThreadsThanAskedForGiveTheSameResult) {
  if (CHIARO_SANITIZED) GTEST_SKIP() << "sanitizers need the address space that this test takes away";
  const auto work = [] {
    leave_little_memory();
    ThreadPool pool(256);
    const bool right = pool.threads() >= 1 && pool.threads() < 256 && sum_with(pool, 1000) == 499500;
    ::_exit(right ? 0 : 1);
  };
#ifdef __linux__
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(0), "");
#else
  GTEST_SKIP() << "the limit on address space is Linux's";
#endif
}

TEST_F(Limits, ThreadsHaveALimit) {
  if (CHIARO_SANITIZED) GTEST_SKIP() << "a sanitizer's threads are dear";
  ThreadPool pool(2'000'000'000);
  EXPECT_LE(pool.threads(), ThreadPool::kMostThreads);
  EXPECT_EQ(sum_with(pool, 100), 4950);
}

TEST_F(Limits, MemoryThatCannotBeMappedIsMissingMemory) {
  if (CHIARO_SANITIZED) GTEST_SKIP() << "sanitizers need the address space that this test takes away";
  const fs::path path = folder_ / "sparse";
  std::ofstream(path).close();
  fs::resize_file(path, uintmax_t{1} << 30);
  const auto work = [&] {
    leave_little_memory();
    const auto file = MappedFile::open(path);
    ::_exit(!file.ok() && file.error().code == ErrorCode::out_of_memory ? 0 : 1);
  };
#ifdef __linux__
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(0), "");
#else
  GTEST_SKIP() << "the limit on address space is Linux's";
#endif
}

TEST_F(Limits, WhatAChunkThrowsReachesTheCallerAndThePoolGoesOn) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int64_t bad = 0; bad < 40; bad += 13) {
      EXPECT_THROW(pool.parallel_for(40,
                                     [&](int64_t chunk, int) {
                                       if (chunk == bad) throw std::bad_alloc();
                                     }),
                   std::bad_alloc);
      EXPECT_EQ(sum_with(pool, 100), 4950);
    }
  }
}

TEST_F(Limits, ANamedPipeIsRefusedAtOnce) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto file = MappedFile::open(path);  // would wait for a writer
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().why.find("not a regular file"), std::string::npos);
  const auto out = AtomicFile::create(path);  // would wait for a reader
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code, ErrorCode::io);
}

TEST_F(Limits, NamesThatCannotBeWrittenAreRefusedBeforeTheWork) {
  fs::create_symlink("b.png", folder_ / "a.png");
  fs::create_symlink("a.png", folder_ / "b.png");
  for (const fs::path& path : {folder_ / (std::string(300, 'x') + ".png"), folder_ / "a.png"}) {
    const auto file = AtomicFile::create(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.error().code, ErrorCode::io);
  }
  for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_TRUE(entry.is_symlink()) << entry.path();
}

}  // namespace
}  // namespace chiaro
