// Processes and series of them, with the shell as the program.
#include "ab/measure.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "ab/child.h"

namespace chiaro::ab {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Ab : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(CHIARO_TMP_DIR) /
              ("ab " + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "work");
  }
  void TearDown() override { fs::remove_all(folder_); }

  ChildRequest shell(const std::string& text) const {
    ChildRequest request;
    request.words = {"sh", "-c", text};
    request.out = folder_ / "out.txt";
    request.err = folder_ / "err.txt";
    return request;
  }
  ChildResult run(const std::string& text) const {
    const auto result = run_child(shell(text));
    EXPECT_TRUE(result.ok());
    return result.ok() ? *result : ChildResult{};
  }
  MeasureOptions series(const std::string& a, const std::string& b) const {
    MeasureOptions options;
    options.commands = {CommandText{.text = a, .shell = true}, CommandText{.text = b, .shell = true}};
    options.folder = folder_ / "work";
    return options;
  }
  std::string quoted(const std::string& name) const { return "'" + (folder_ / name).string() + "'"; }
  // Whether a process lives, or is a zombie that nobody has reaped.
  static bool lives(const std::string& pid) {
    return !pid.empty() && ::kill(static_cast<pid_t>(std::stol(pid)), 0) == 0 &&
           text_of("/proc/" + pid + "/stat").find(") Z") == std::string::npos;
  }
  bool gone_soon(const std::string& pid) const {
    for (int i = 0; i < 500 && lives(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return !lives(pid);
  }

  fs::path folder_;
};

TEST_F(Ab, AChildsEndOutputAndTime) {
  const ChildResult good = run("echo hello; echo oh >&2; sleep 0.2");
  EXPECT_TRUE(good.good());
  EXPECT_EQ(text_of(folder_ / "out.txt"), "hello\n");
  EXPECT_EQ(text_of(folder_ / "err.txt"), "oh\n");
  EXPECT_GE(good.seconds, 0.2);
  EXPECT_LT(good.cpu_seconds, good.seconds);
  EXPECT_EQ(run("exit 7").code, 7);
  EXPECT_EQ(run("kill -TERM $$").signal, SIGTERM);
  EXPECT_EQ(run("read x; test -z \"$x\"").code, 0) << "its input is empty";
  ChildRequest none = shell("");
  none.words = {"no-such-program-here"};
  const auto missing = run_child(none);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::usage);
  EXPECT_NE(missing.error().what.find("no-such-program-here"), std::string::npos);
}

TEST_F(Ab, AChildHasTheSignalsOfAShell) {
  ::signal(SIGPIPE, SIG_IGN);  // as the program has it
  EXPECT_EQ(run("kill -PIPE $$; exit 0").signal, SIGPIPE);
  ::signal(SIGPIPE, SIG_DFL);
}

TEST_F(Ab, AChildsMemory) {
  constexpr int64_t kMiB = 1 << 20;
  const int64_t small = run("exit 0").peak_bytes;
  const int64_t large = run("dd if=/dev/zero of=/dev/null bs=104857600 count=1").peak_bytes;
  EXPECT_GT(small, 0);
  EXPECT_GE(large, 100 * kMiB);
  EXPECT_LT(large, small + 150 * kMiB);
}

TEST_F(Ab, ATimeoutEndsTheWholeFamily) {
  ChildRequest request = shell("sleep 100 & echo $!; wait");
  request.timeout = 0.3;
  const auto result = run_child(request);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->timed_out);
  EXPECT_LT(result->seconds, 50);
  EXPECT_TRUE(gone_soon(text_of(folder_ / "out.txt")));
}

TEST_F(Ab, OneThatDoesNotWantToEndIsEnded) {
  ChildRequest request = shell("trap '' TERM; while :; do sleep 1; done");
  request.timeout = 0.2;
  const auto result = run_child(request);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->signal, SIGKILL);
}

TEST_F(Ab, WhatAChildLeavesRunningIsEnded) {
  EXPECT_TRUE(run("sleep 100 >/dev/null 2>&1 & echo $!").good());
  EXPECT_TRUE(gone_soon(text_of(folder_ / "out.txt")));
}

TEST_F(Ab, CancelEndsIt) {
  std::atomic<bool> cancel{false};
  std::atomic<int> group{0};
  ChildRequest request = shell("sleep 100");
  request.cancel = &cancel;
  request.group = &group;
  request.tick = [&](double) {
    EXPECT_GT(group.load(), 0);
    cancel = true;
  };
  const auto result = run_child(request);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->cancelled);
  EXPECT_LT(result->seconds, 50);
  EXPECT_EQ(group.load(), 0);
}

TEST_F(Ab, TheOrderTurnsRoundAndTheWarmUpIsApart) {
  MeasureOptions options = series("printf a >>" + quoted("log"), "printf b >>" + quoted("log"));
  options.repeats = 3;
  options.warmup = 2;
  const auto measured = measure(options);
  ASSERT_TRUE(measured.ok()) << measured.error().format();
  EXPECT_EQ(text_of(folder_ / "log"),
            "abab"
            "ab"
            "ba"
            "ab");
  EXPECT_EQ(measured->runs.size(), 10U);
  EXPECT_EQ(measured->values(kA, &Run::seconds).size(), 3U);
  EXPECT_EQ(measured->values(kB, &Run::seconds).size(), 3U);
  fs::remove(folder_ / "log");
  options.with_again = true;
  options.warmup = 0;
  ASSERT_TRUE(measure(options).ok());
  EXPECT_EQ(text_of(folder_ / "log"),
            "aba"
            "aba"
            "aba");
  EXPECT_EQ(order_of(options, 1), (std::vector<int>{kAgain, kB, kA}));
}

TEST_F(Ab, ValuesAreInTheOrderOfTheRepeats) {
  // B counts its own runs: 1, 2, 3.
  MeasureOptions options =
      series("echo took 5 ms", "echo x >>" + quoted("log") + "; echo took $(wc -l <" + quoted("log") + ") ms");
  options.repeats = 3;
  options.warmup = 0;
  options.figure = "took +([0-9.]+) ms";
  const auto measured = measure(options);
  ASSERT_TRUE(measured.ok()) << measured.error().format();
  EXPECT_EQ(measured->values(kA, &Run::figure), (std::vector<double>{5, 5, 5}));
  EXPECT_EQ(measured->values(kB, &Run::figure), (std::vector<double>{1, 2, 3}));
}

TEST_F(Ab, ACommandThatFailsIsAnErrorWithItsLastWords) {
  MeasureOptions options = series("true", "echo x >>" + quoted("log") + "; test $(wc -l <" + quoted("log") +
                                              ") -lt 3 || { seq 100000 >&2; echo 'no memory left' >&2; exit 5; }");
  const auto measured = measure(options);
  ASSERT_FALSE(measured.ok());
  const Error& error = measured.error();
  EXPECT_EQ(error.code, ErrorCode::bad_file);
  EXPECT_EQ(error.what, "command B exited with 5");
  EXPECT_EQ(error.where, "repeat 2 of 5") << "one of its runs was the warm-up";
  EXPECT_NE(error.why.find("100000\nno memory left"), std::string::npos) << error.why;
  EXPECT_LT(error.why.size(), 2001U);
  EXPECT_NE(error.mend.find("seq 100000"), std::string::npos);
}

TEST_F(Ab, OtherFailures) {
  const auto what = [](const MeasureOptions& options) {
    const auto measured = measure(options);
    return measured.ok() ? "none" : measured.error().what;
  };
  MeasureOptions options = series("echo only on stdout; exit 1", "true");
  EXPECT_EQ(measure(options).error().why, "only on stdout");
  EXPECT_EQ(measure(options).error().where, "warm-up");
  EXPECT_EQ(what(series("kill -SEGV $$", "true")), "command A was ended by signal 11");
  EXPECT_EQ(what(series("true {out}", "true {out}")), "command A wrote no file at the output's path");
  options = series("echo 3", "true");
  options.figure = "([0-9]+)";
  EXPECT_EQ(what(options), "command B showed no figure as --figure wants it");
  options.figure = "[0-9]+";
  EXPECT_EQ(what(options), "--figure has no group");
  options.figure = "([0-9]+";
  EXPECT_EQ(what(options), "--figure is no regular expression");
  options = series("sleep 100", "true");
  options.timeout = 0.2;
  EXPECT_EQ(what(options), "command A did not end within 0.2 s (--timeout)");
}

TEST_F(Ab, OutputsAreKeptAndThoseThatChangeAreSeen) {
  MeasureOptions options = series("echo same >{out}", "echo x >>" + quoted("log") + "; cp " + quoted("log") + " {out}");
  options.repeats = 3;
  const auto measured = measure(options);
  ASSERT_TRUE(measured.ok()) << measured.error().format();
  EXPECT_EQ(text_of(measured->pictures[kA].path), "same\n");
  EXPECT_EQ(text_of(measured->pictures[kB].path), "x\nx\n") << "of the first run that counts";
  EXPECT_TRUE(measured->pictures[kA].steady);
  EXPECT_FALSE(measured->pictures[kB].steady);
}

TEST_F(Ab, ProgressCountsRunsAndTimeLeft) {
  MeasureOptions options = series("sleep 0.05", "sleep 0.05");
  options.repeats = 2;
  std::vector<int> done;
  std::vector<double> left;
  options.progress = [&](int now, int all, double seconds, const std::string&) {
    EXPECT_EQ(all, 6);
    done.push_back(now);
    left.push_back(seconds);
  };
  ASSERT_TRUE(measure(options).ok());
  EXPECT_EQ(done, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_LT(left[0], 0) << "not known yet";
  EXPECT_GT(left[1], 0.2);
  EXPECT_LT(left[5], left[1]);
}

}  // namespace
}  // namespace chiaro::ab
