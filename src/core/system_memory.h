// How much memory the system could still give this process.
#pragma once

#include <cstdint>

namespace chiaro {

// Bytes, without swap; pages that only cache files count as free. On Linux no more than the process's control group
// (a container) has left. -1 where the system does not say. Thread rule: any thread.
int64_t available_memory();

}  // namespace chiaro
