// What is printed and lost, as on a full disk, is an error: a script must not take an empty file for an answer.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "program.h"

namespace chiaro::testing {
namespace {

// The exit code of `chiaro` with `arguments` and redirections, through a shell.
int shell(const std::string& arguments) {
  const int status = std::system((std::string("\"" CHIARO_PROGRAM "\" ") + arguments + " 2>/dev/null").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardOutput, ThatIsFullIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::string model = "\"" + tiny_model().string() + "\"";
  for (const std::string& command : {std::string("ops list"), std::string("devices"), std::string("--help"),
                                     "inspect " + model, "inspect --json " + model}) {
    EXPECT_EQ(shell(command + " >/dev/null"), 0) << command;
    EXPECT_EQ(shell(command + " >/dev/full"), 5) << command;
  }
}

TEST(StandardOutput, ThatNobodyReadsIsNone) {
  EXPECT_EQ(shell("devices >&-"), 0);
}

TEST(StandardOutput, TheNoOfACommandKeepsItsCode) {
  EXPECT_EQ(shell("frobnicate >/dev/null"), 2);
}

}  // namespace
}  // namespace chiaro::testing
