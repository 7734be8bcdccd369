// Runs work in a child process that may take little more memory than it has. Linux only, and not under sanitizers,
// which need the address space that this takes away.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <ctime>
#include <fstream>
#include <functional>

#include "sanitized.h"

namespace chiaro::testing {

inline bool memory_can_be_limited() {
#ifdef __linux__
  return !CHIARO_SANITIZED;
#else
  return false;
#endif
}

// Address space counts mapped files too; private memory is what is allocated, and stacks of threads.
enum class Limited { address_space, private_memory };

// `work` gives whether all went as it should. It gets `spare` bytes more than are in use when it begins, and so many
// seconds of processor time (a loaded machine makes none of it). Threads of the parent are not there.
inline void expect_within(Limited what, size_t spare, double seconds, const std::function<bool()>& work) {
  const auto child = [&] {
    rlim_t pages[6] = {};  // size, resident, shared, text, library, data
    std::ifstream statm("/proc/self/statm");
    for (rlim_t& p : pages) statm >> p;
    const bool address_space = what == Limited::address_space;
    const rlim_t used = (address_space ? pages[0] : pages[5]) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
    const rlimit both{used + spare, used + spare};
    ::setrlimit(address_space ? RLIMIT_AS : RLIMIT_DATA, &both);
    const std::clock_t start = std::clock();
    if (!work()) ::_exit(1);
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    ::_exit(took < seconds ? 0 : 2);
  };
  // 1: not as it should; 2: too slow; killed or another code: out of memory.
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

}  // namespace chiaro::testing
