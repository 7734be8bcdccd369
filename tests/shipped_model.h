// The model that ships, from prompt to picture at 64x64: one picture on the CPU, which others are held against.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chiaro/chiaro.h"
#include "pipeline/image/image_io.h"

namespace chiaro::testing {

// Its folder.
std::string shipped_model();

struct Made {
  Image image;
  std::vector<std::string> notices;
};

// Of the shipped model, where the options name no other. Null, and a failure of the test, where it does not load.
std::shared_ptr<Session> session_with(LoadOptions options);
// "a red apple on a blue background" at 64x64.
Result<Made> make_picture(Session& session, int steps = 2);
// By a session of its own; a failure of the test where there is none.
Made picture_with(const LoadOptions& options, int steps = 2);

// At least 50 dB between the picture and the one that the CPU makes of the shipped model with the same `fuse` and
// `steps`, made once per process; prints the figure, and the seconds. Returns what was made.
Made expect_the_cpus_picture(Session& session, const LoadOptions& options, int steps = 2);
Made expect_the_cpus_picture(const LoadOptions& options, int steps = 2);
// The same for weights in a folder of their own, of which nothing may move to the CPU.
void expect_the_cpus_picture_of(const std::string& model, const std::string& device, int steps,
                                const std::string& title);

// Those of the notices that tell of group norms, a line each.
std::string about_group_norm(const std::vector<std::string>& notices);

}  // namespace chiaro::testing
