// Ctrl-C: a clean end, finished pictures stay, nothing half-written is left.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "pipeline/image/image_io.h"
#include "program.h"

namespace chiaro {
namespace {

using namespace testing;

// Waits until `ready` holds; false where the program ended before, or after half a minute.
template <class F>
bool wait_until(Running& program, F&& ready) {
  for (int i = 0; i < 3000 && !program.finished(); ++i) {
    if (ready()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::vector<std::string> long_run(std::vector<std::string> more) {
  std::vector<std::string> all{"-p", "a red apple", "-W", "64", "-H", "64"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

class Interrupt : public ::testing::TestWithParam<int> {};

TEST_P(Interrupt, DuringSamplingLeavesNothing) {
  const Folder folder("interrupt");
  Running program(folder.path(), long_run({"--steps", "1000"}));
  ASSERT_TRUE(wait_until(program, [&] { return program.err_so_far().find("sample ") != std::string::npos; }))
      << program.err_so_far();
  program.signal(GetParam());
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("interrupted: 0 of 1 pictures were saved"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(folder.names().empty()) << folder.names()[0];
}

TEST_P(Interrupt, FinishedPicturesStay) {
  const Folder folder("interrupt");
  Running program(folder.path(), long_run({"--steps", "2", "-b", "10000", "-o", "a.png"}));
  ASSERT_TRUE(wait_until(program, [&] { return std::filesystem::exists(folder / "a_3.png"); })) << program.err_so_far();
  program.signal(GetParam());
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  const auto lines = outcome.out_lines();
  EXPECT_GE(lines.size(), 3u);
  EXPECT_EQ(folder.names().size(), lines.size()) << "what is saved and what is named differ";
  for (const std::string& line : lines) EXPECT_TRUE(load_image(folder / line).ok()) << line;
}

TEST_P(Interrupt, ASecondOneEndsItAtOnce) {
  const Folder folder("interrupt");
  Running program(folder.path(), long_run({"--steps", "1000"}));
  ASSERT_TRUE(wait_until(program, [&] { return program.err_so_far().find("sample ") != std::string::npos; }))
      << program.err_so_far();
  program.signal(GetParam());
  program.signal(GetParam());
  EXPECT_EQ(program.wait().code, 130);
  EXPECT_TRUE(folder.names().empty());
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupt, ::testing::Values(SIGINT, SIGTERM));

}  // namespace
}  // namespace chiaro
