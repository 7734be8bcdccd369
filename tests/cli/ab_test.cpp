// `chiaro ab` with the built program as the commands, and its ends: refusals, failures, Ctrl-C.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "pipeline/image/image_io.h"
#include "program.h"

namespace chiaro {
namespace {

using namespace testing;

// The program's outputs go below TMPDIR: a folder of the test, so that what is left behind shows.
class AbCommand : public ::testing::Test {
 protected:
  AbCommand() : folder_("ab"), temporary_("ab tmp") { ::setenv("TMPDIR", temporary_.path().c_str(), 1); }
  ~AbCommand() override { ::unsetenv("TMPDIR"); }

  static std::string paint(const std::string& more) {
    return std::string("'") + CHIARO_PROGRAM + "' -p apple -W 64 -H 64 --steps 1 -o {out} " + more;
  }
  Outcome ab(std::vector<std::string> more) const {
    more.insert(more.begin(), "ab");
    return folder_.run(more);
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  Folder folder_, temporary_;
};

TEST_F(AbCommand, TwoWaysToThePictureAndTheReport) {
  const Outcome outcome = ab({"--a", paint("-t 1"), "--b", paint("-t 2"), "--repeats", "2", "--warmup", "0", "--report",
                              "r", "--json", "j.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "B takes ")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "Outputs of A and B: the same bytes. Each wrote the same bytes every time."))
      << outcome.out;
  for (const char* name : {"a.png", "b.png"}) EXPECT_EQ(load_image(folder_ / "r" / name)->width, 64) << name;
  const auto json = nlohmann::json::parse(read_file(folder_ / "r" / "report.json"));
  EXPECT_EQ(json["runs"].size(), 4U);
  EXPECT_EQ(json["outputs"]["identical"], true);
  EXPECT_GT(json["variants"][0]["most_bytes"].get<int64_t>(), 8 << 20);
  EXPECT_EQ(nlohmann::json::parse(read_file(folder_ / "j.json"))["runs"], json["runs"]);
  EXPECT_TRUE(has(read_file(folder_ / "r" / "report.md"), "](plot.svg)"));
  EXPECT_TRUE(has(read_file(folder_ / "r" / "plot.svg"), "</svg>"));
  EXPECT_TRUE(temporary_.names().empty());
}

TEST_F(AbCommand, OutputsThatAreNotAlike) {
  const std::vector<std::string> run{"--a", paint("-s 1"), "--b", paint("-s 2"), "-r", "2", "--warmup", "0"};
  std::vector<std::string> strict = run;
  strict.insert(strict.end(), {"--min-psnr", "60"});
  const Outcome outcome = ab(strict);
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "Outputs of A and B: PSNR ")) << outcome.out;
  EXPECT_TRUE(has(outcome.err, "below --min-psnr 60")) << outcome.err;
}

TEST_F(AbCommand, AAgainstItselfByAFigure) {
  const Outcome outcome = ab({"--a", "echo 7 ms", "--a-vs-a", "--figure", "([0-9]+) ms", "-r", "3"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "A against A: 1.000 (95 % interval 1.000 to 1.000, 3 pairs)")) << outcome.out;
}

TEST_F(AbCommand, Refusals) {
  const auto refused = [&](const std::vector<std::string>& arguments, int code, const std::string& part) {
    const Outcome outcome = ab(arguments);
    EXPECT_EQ(outcome.code, code) << part << "\n" << outcome.err;
    EXPECT_TRUE(has(outcome.err, part)) << part << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "");
  };
  refused({}, 2, "--a is required");
  refused({"--a", "true"}, 2, "nothing to compare A with");
  refused({"--a", "true", "--b", "x | y"}, 2, "needs a shell");
  refused({"--a", "true", "--b", "echo 'x"}, 2, "open quote");
  refused({"--a", "true", "--b", "no-such-program"}, 2, "cannot start \"no-such-program\"");
  refused({"--a", "true", "--b", "true {out}"}, 2, "only one of the commands has {out}");
  refused({"--a", "true", "--b", "true", "--min-psnr", "40"}, 2, "no outputs to compare");
  refused({"--a", "true", "--b", "true", "-r", "1"}, 2, "--repeats");
  refused({"--a", "true", "--b", "true", "--json", "none/x.json"}, 2, "--json");
  refused({"--a", "true", "--b", "true", "--figure", "(1)", "--clock", "cpu"}, 2, "exclude each other");
  refused({"--a", "true", "--b", std::string("'") + CHIARO_PROGRAM + "' -p x -m none.safetensors"}, 3,
          "command B exited with 3");
  refused({"--a", "true", "--b", "sleep 60", "--timeout", "0.2"}, 3, "did not end within 0.2 s");
  EXPECT_TRUE(folder_.names().empty());
  EXPECT_TRUE(temporary_.names().empty());
}

bool lives(const std::string& pid) {
  return ::kill(static_cast<pid_t>(std::stol(pid)), 0) == 0 &&
         read_file("/proc/" + pid + "/stat").find(") Z") == std::string::npos;
}

bool gone_soon(const std::string& pid) {
  for (int i = 0; i < 500 && lives(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !lives(pid);
}

class AbInterrupt : public AbCommand, public ::testing::WithParamInterface<int> {
 protected:
  // Starts a comparison whose first command writes its process number and waits.
  std::vector<std::string> waiting() const {
    const std::string command = "echo $$ >pid.new && mv pid.new pid && " + ignore_ + "sleep 1000; sleep 1000";
    return {"ab", "--shell", "--a", command, "--b", command, "--json", "j.json"};
  }
  std::string pid_of(Running& program) {
    for (int i = 0; i < 3000 && !program.finished(); ++i) {
      if (std::filesystem::exists(folder_ / "pid")) return read_file(folder_ / "pid");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return "";
  }
  std::string ignore_;
};

TEST_P(AbInterrupt, EndsTheChildAndLeavesNothing) {
  Running program(folder_.path(), waiting());
  const std::string pid = pid_of(program);
  ASSERT_NE(pid, "") << program.err_so_far();
  program.signal(GetParam());
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_TRUE(gone_soon(pid.substr(0, pid.size() - 1)));
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"pid"});
  EXPECT_TRUE(temporary_.names().empty());
}

TEST_P(AbInterrupt, TheSecondOneEndsEvenAChildThatDoesNotListen) {
  ignore_ = "trap '' INT TERM; ";
  Running program(folder_.path(), waiting());
  const std::string pid = pid_of(program);
  ASSERT_NE(pid, "") << program.err_so_far();
  program.signal(GetParam());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  program.signal(GetParam());
  EXPECT_EQ(program.wait().code, 130);
  EXPECT_TRUE(gone_soon(pid.substr(0, pid.size() - 1)));
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"pid"});
}

INSTANTIATE_TEST_SUITE_P(Signals, AbInterrupt, ::testing::Values(SIGINT, SIGTERM));

}  // namespace
}  // namespace chiaro
