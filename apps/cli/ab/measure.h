// Runs the commands in turn, in fresh processes, and keeps what each run took and wrote.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ab/command_line.h"
#include "chiaro/error.h"

namespace chiaro::ab {

enum Variant : int { kA, kB, kAgain };  // kAgain: A once more, for the noise floor
inline constexpr int kVariants = 3;
std::string_view variant_name(int variant);  // "A", "B", "A again"

struct MeasureOptions {
  std::array<CommandText, 2> commands;  // of A (also A again) and of B
  bool with_b = true;                   // false: A against A alone
  bool with_again = false;
  int repeats = 5, warmup = 1;  // warmup: runs of each command before the first that counts
  double timeout = 0;           // seconds of each run; 0: none
  std::string figure;  // a regular expression, looked for line by line: the number in its first group is compared
  std::filesystem::path folder;  // for outputs; exists, is empty, and the caller removes it
  const std::atomic<bool>* cancel = nullptr;
  std::atomic<int>* group = nullptr;
  // Runs done of all, seconds expected for the rest (below 0: unknown), and what runs now. May be empty.
  std::function<void(int, int, double, const std::string&)> progress;
};

struct Run {
  int variant = kA, repeat = 0, position = 0;  // position: first (0), second, ... of its repeat
  bool warmup = false;
  double seconds = 0, cpu_seconds = 0, figure = 0;
  int64_t peak_bytes = 0;
};

struct Picture {
  std::filesystem::path path;  // of the first run that counts; empty where the command names no output
  bool steady = true;          // every later run wrote the same bytes
};

struct Measured {
  std::vector<Run> runs;  // in the order in which they ran, warm-up included
  std::array<Picture, kVariants> pictures;
  // Values of one variant, one for each repeat, in the order of the repeats.
  std::vector<double> values(int variant, double Run::*what) const;
  int64_t most_bytes(int variant) const;
};

// The variants in the order of this repeat: it turns round from one repeat to the next.
std::vector<int> order_of(const MeasureOptions& options, int repeat);

// Errors: usage (a command that is malformed or cannot be started, a bad expression); bad_file where a command fails,
// takes too long, writes no output or shows no figure, with the end of what it said; cancelled; io.
Result<Measured> measure(const MeasureOptions& options);

}  // namespace chiaro::ab
