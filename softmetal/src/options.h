// What the environment asks for, read once; and the calls that are to fail.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "softmetal/softmetal.h"

namespace softmetal::detail {

enum class LeakReport { off, report, fatal };

struct Environment {
  std::string profile;               // SOFTMETAL_PROFILE
  std::vector<std::string> devices;  // SOFTMETAL_DEVICES
  bool has_devices = false;
  Checks checks;              // SOFTMETAL_CHECKS
  int threads = 0;            // SOFTMETAL_THREADS
  bool unadvertised = false;  // SOFTMETAL_UNADVERTISED
  double timeout = 60;        // SOFTMETAL_TIMEOUT, seconds
  LeakReport leaks = LeakReport::report;
};
// A variable that is not understood is printed and ends the process: a test that runs with the wrong setting proves
// nothing.
const Environment& environment();

// Counts the call; true where it is to fail.
bool fails(Call call);
// Counts a commit; the error that it is to end with.
std::optional<MTL::CommandBufferError> commit_fails();

}  // namespace softmetal::detail
