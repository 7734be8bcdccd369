// What the program's exit code tells a script.
#pragma once

#include "chiaro/error.h"

namespace chiaro::cli {

enum ExitCode : int {
  kOk = 0,
  kInternal = 1,      // our own mistake; also "no" of compare and ops test
  kUsage = 2,         // a wrong flag or request, or an output that cannot be written to
  kBadInput = 3,      // a model or picture that cannot be read or is not supported
  kNonFinite = 4,     // NaN or infinity in a latent or a picture
  kNoSpace = 5,       // out of memory, disk full, or a write that failed
  kInterrupted = 130  // Ctrl-C or SIGTERM
};

// Where an error arose: the same code (io) means a bad input while reading and a lack of space while writing.
enum class Phase { reading, working };

int exit_code(const Error& error, Phase phase);

// The lines at the end of every --help that name these codes.
inline constexpr const char* kExitCodeHelp =
    "Exit codes: 0 done; 1 internal error, or \"no\" of compare and ops test; 2 wrong usage; 3 unreadable or\n"
    "unsupported input; 4 a result that is not finite; 5 no memory, or writing failed; 130 interrupted.\n";

}  // namespace chiaro::cli
