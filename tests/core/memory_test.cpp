// Blocks of the system: aligned, writable to the last byte, and given back; large ones ask for huge pages on Linux.
#include "core/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "core/system_memory.h"
#include "sanitized.h"

namespace chiaro {
namespace {

constexpr size_t kHuge = size_t{2} << 20;

TEST(SystemAllocator, BlocksOfAnySizeAreAlignedAndWhole) {
  SystemAllocator allocator;
  for (const size_t bytes : {size_t{1}, size_t{64}, size_t{65}, kHuge - 1, kHuge, kHuge + 1, 3 * kHuge + 12345}) {
    auto* block = static_cast<std::byte*>(allocator.allocate(bytes));
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kHostAlignment, 0U);
    std::memset(block, 0x5A, bytes);
    EXPECT_EQ(block[bytes - 1], std::byte{0x5A});
    allocator.release(block, bytes);
  }
  EXPECT_EQ(allocator.allocate(SIZE_MAX), nullptr);
#if !CHIARO_SANITIZED  // sanitizers end the process at a block that no machine has
  EXPECT_EQ(allocator.allocate(SIZE_MAX / 2), nullptr);
#endif
  allocator.release(nullptr, kHuge);
}

#if defined(__linux__) && !CHIARO_SANITIZED
// The line that begins with `name` in the part of /proc/self/smaps about the mapping that holds `block`.
std::string of_mapping(const void* block, const std::string& name) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<uintptr_t>(block);
      inside = begin <= at && at < end;
    } else if (inside && line.starts_with(name)) {
      return line;
    }
  }
  return "";
}

TEST(SystemAllocator, LargeBlocksAskForHugePages) {
  SystemAllocator allocator;
  const size_t bytes = 2 * kHuge + 5000;
  auto* block = static_cast<std::byte*>(allocator.allocate(bytes));
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kHuge, 0U);
  const std::string first = of_mapping(block, "VmFlags:"), tail = of_mapping(block + 2 * kHuge, "VmFlags:");
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "this kernel has none";
  EXPECT_NE((first + " ").find(" hg "), std::string::npos) << first;
  EXPECT_EQ((tail + " ").find(" hg "), std::string::npos) << "the tail would take 2 MiB: " << tail;
  allocator.release(block, bytes);
  EXPECT_EQ(of_mapping(block + bytes - 1, "VmFlags:"), "") << "not given back";
}

TEST(SystemMemory, IsKnownAndNoMoreThanTheMachineHas) {
  const int64_t available = available_memory();
  EXPECT_GT(available, 0);
  std::ifstream info("/proc/meminfo");
  std::string name;
  int64_t kib = 0;
  info >> name >> kib;
  ASSERT_EQ(name, "MemTotal:");
  EXPECT_LE(available, kib * 1024);
  EXPECT_EQ(SystemAllocator().free_bytes() > 0, true);
}
#endif

}  // namespace
}  // namespace chiaro
