// GPU kernels as documentation: what each costs at the sizes of Stable Diffusion 1.5 on the profiles' GPUs (predicted),
// and what the software GPU counts on a small run. Nothing in it is written by hand but the sizes.
#pragma once

#include <string>

#include "chiaro/error.h"

namespace chiaro {

// The page docs/generated/kernels.md. The same text on every machine. Runs kernels on the software GPU (seconds).
// Errors: those of planning or running a reference call.
Result<std::string> kernels_markdown();

}  // namespace chiaro
