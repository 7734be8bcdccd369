// Ctrl-C: the first asks the run to stop, the second ends the program at once.
#pragma once

#include <atomic>

namespace chiaro::cli {

// Installs the handlers: SIGINT and SIGTERM set the flag; a second one of either ends the process with 130. SIGPIPE is
// ignored: a closed pipe behind our messages must not cost the picture. So is SIGXFSZ: a file above the limit is an
// error of writing, which cleans up. Returns the flag for Callbacks::cancel.
const std::atomic<bool>& catch_interrupts();

// A process group that a second one also ends, by force, before it ends the process; 0: none.
std::atomic<int>& group_to_end();

}  // namespace chiaro::cli
