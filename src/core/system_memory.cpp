#include "core/system_memory.h"

#ifdef __APPLE__
#include <mach/mach.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <fstream>
#include <string>

namespace chiaro {
namespace {

#ifdef __linux__
// The number behind `name` in a file of lines "name number"; -1 where there is none.
int64_t number_of(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    int64_t value = -1;
    if (word == name && file >> value) return value;
  }
  return -1;
}

// The number that a file holds alone; -1 where it holds another text ("max").
int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t value = -1;
  return file >> value ? value : -1;
}

// What the control groups (version 2) above this process leave it; -1 where none has a limit.
int64_t left_by_groups() {
  std::ifstream own("/proc/self/cgroup");
  std::string line, group;
  while (std::getline(own, line)) {
    if (line.starts_with("0::/")) group = line.substr(3);
  }
  int64_t least = -1;
  while (!group.empty()) {
    const std::string folder = "/sys/fs/cgroup" + (group == "/" ? "" : group) + "/";
    const int64_t limit = number_in(folder + "memory.max"), used = number_in(folder + "memory.current");
    if (limit >= 0 && used >= 0) {
      const int64_t cached = std::max<int64_t>(0, number_of(folder + "memory.stat", "inactive_file"));
      const int64_t left = std::max<int64_t>(0, limit - used + cached);
      least = least < 0 ? left : std::min(least, left);
    }
    group = group == "/" ? "" : std::max(std::string("/"), group.substr(0, group.rfind('/')));
  }
  return least;
}
#endif

}  // namespace

int64_t available_memory() {
#ifdef __linux__
  const int64_t kib = number_of("/proc/meminfo", "MemAvailable:");
  const int64_t machine = kib < 0 ? -1 : kib * 1024, groups = left_by_groups();
  if (machine < 0 || groups < 0) return std::max(machine, groups);
  return std::min(machine, groups);
#elif defined(__APPLE__)
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const auto into = reinterpret_cast<host_info64_t>(&pages);
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, into, &count) != KERN_SUCCESS) return -1;
  return (static_cast<int64_t>(pages.free_count) + pages.inactive_count + pages.purgeable_count) * ::getpagesize();
#else
  return -1;
#endif
}

}  // namespace chiaro
