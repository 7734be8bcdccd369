#include "ab/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "ab/child.h"

namespace chiaro::ab {
namespace {

namespace fs = std::filesystem;

constexpr size_t kTailBytes = 2000;  // of a failed command's messages
constexpr std::uintmax_t kMostFigureText = 1 << 20;
constexpr size_t kMostFigureLine = 1000;  // std::regex needs stack for every letter

const CommandText& command_of(const MeasureOptions& options, int variant) {
  return options.commands[variant == kB ? 1 : 0];
}

// The last `most` bytes of a file, from the start of a line where that is cut; nothing where there is no file.
std::string tail_of(const fs::path& path, std::uintmax_t most) {
  std::error_code ec;
  const std::uintmax_t size = fs::file_size(path, ec);
  if (ec) return {};
  std::ifstream file(path, std::ios::binary);
  if (size > most) file.seekg(static_cast<std::streamoff>(size - most));
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (const size_t line = text.find('\n'); size > most && line != std::string::npos) text.erase(0, line + 1);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

bool same_bytes(const fs::path& a, const fs::path& b) {
  std::error_code ec;
  if (fs::file_size(a, ec) != fs::file_size(b, ec) || ec) return false;
  std::ifstream one(a, std::ios::binary), other(b, std::ios::binary);
  return std::equal(std::istreambuf_iterator<char>(one), std::istreambuf_iterator<char>(),
                    std::istreambuf_iterator<char>(other));
}

std::string ending_of(const ChildResult& result, double timeout) {
  if (result.timed_out) return fmt::format("did not end within {} s (--timeout)", timeout);
  if (result.signal != 0) return fmt::format("was ended by signal {}", result.signal);
  return fmt::format("exited with {}", result.code);
}

class Series {
 public:
  explicit Series(const MeasureOptions& options) : o_(options) {}

  Result<Measured> run() {
    if (!o_.figure.empty()) CHIARO_TRY(read_expression());
    const int each = (o_.with_b ? 1 : 0) + (o_.with_again ? 1 : 0) + 1;
    all_ = o_.repeats * each + o_.warmup * (o_.with_b ? 2 : 1);
    for (int i = 0; i < o_.warmup; ++i) {
      CHIARO_TRY(run_one({.variant = kA, .repeat = i, .position = 0, .warmup = true}));
      if (o_.with_b) CHIARO_TRY(run_one({.variant = kB, .repeat = i, .position = 1, .warmup = true}));
    }
    for (int repeat = 0; repeat < o_.repeats; ++repeat) {
      int position = 0;
      for (const int variant : order_of(o_, repeat)) {
        CHIARO_TRY(run_one({.variant = variant, .repeat = repeat, .position = position++}));
      }
    }
    return std::move(measured_);
  }

 private:
  Status read_expression() {
    try {
      expression_ = std::regex(o_.figure, std::regex::ECMAScript);
    } catch (const std::regex_error& error) {
      return Error{ErrorCode::usage, "--figure is no regular expression", error.what(), "as in: 'median ([0-9.]+) ms'",
                   ""};
    }
    if (expression_.mark_count() > 0) return {};
    return Error{ErrorCode::usage, "--figure has no group", "the number is what the first ( ) matches",
                 "as in: 'median ([0-9.]+) ms'", ""};
  }

  Error fail(const Run& run, const std::string& ending, const std::string& said) const {
    const std::string where = run.warmup ? "warm-up" : fmt::format("repeat {} of {}", run.repeat + 1, o_.repeats);
    return {ErrorCode::bad_file, fmt::format("command {} {}", variant_name(run.variant), ending),
            said.empty() ? "it said nothing" : said, "run it alone: " + command_of(o_, run.variant).text, where};
  }

  std::string last_words() const {
    const std::string err = tail_of(err_path(), kTailBytes);
    return err.empty() ? tail_of(out_path(), kTailBytes) : err;
  }
  fs::path out_path() const { return o_.folder / "stdout.txt"; }
  fs::path err_path() const { return o_.folder / "stderr.txt"; }

  void show(const Run& run, double so_far) const {
    if (!o_.progress) return;
    const auto done = static_cast<int>(measured_.runs.size());
    double left = -1;  // the runs to come take what those before took on average
    if (done > 0) {
      double sum = 0;
      for (const Run& earlier : measured_.runs) sum += earlier.seconds;
      left = sum / done * (all_ - done) - std::min(so_far, sum / done);
    }
    const std::string what = run.warmup ? "warm-up" : fmt::format("repeat {}/{}", run.repeat + 1, o_.repeats);
    o_.progress(done, all_, left, what + ", " + std::string(variant_name(run.variant)));
  }

  Status run_one(Run run) {
    const CommandText& command = command_of(o_, run.variant);
    const fs::path picture = o_.folder / "new.png";
    ChildRequest request;
    CHIARO_ASSIGN(request.words, words_of(command, picture));
    request.out = out_path();
    request.err = err_path();
    request.timeout = o_.timeout;
    request.cancel = o_.cancel;
    request.group = o_.group;
    request.tick = [&](double so_far) { show(run, so_far); };
    show(run, 0);
    CHIARO_ASSIGN(const ChildResult result, run_child(request));
    if (result.cancelled) return Error{ErrorCode::cancelled, "interrupted", "", "", ""};
    if (!result.good()) return fail(run, ending_of(result, o_.timeout), last_words());
    run.seconds = result.seconds;
    run.cpu_seconds = result.cpu_seconds;
    run.peak_bytes = result.peak_bytes;
    if (!o_.figure.empty()) CHIARO_TRY(read_figure(run));
    if (names_output(command)) CHIARO_TRY(keep_picture(run, picture));
    measured_.runs.push_back(run);
    return {};
  }

  Status read_figure(Run& run) const {
    for (const fs::path& path : {out_path(), err_path()}) {
      std::istringstream text(tail_of(path, kMostFigureText));
      for (std::string line; std::getline(text, line);) {
        std::smatch match;
        if (line.size() > kMostFigureLine || !std::regex_search(line, match, expression_)) continue;
        run.figure = std::strtod(match[1].str().c_str(), nullptr);
        if (run.figure > 0 && std::isfinite(run.figure)) return {};
        return fail(run, "showed a figure that is no number above 0", line);
      }
    }
    return fail(run, "showed no figure as --figure wants it", last_words());
  }

  // The first that counts is kept; later ones are compared with it and removed.
  Status keep_picture(const Run& run, const fs::path& path) {
    std::error_code ec;
    if (!fs::is_regular_file(path, ec)) {
      return fail(run, "wrote no file at the output's path", last_words());
    }
    Picture& picture = measured_.pictures[run.variant];
    if (!run.warmup && picture.path.empty()) {
      picture.path = o_.folder / (run.variant == kA ? "a.png" : run.variant == kB ? "b.png" : "again.png");
      fs::rename(path, picture.path, ec);
    } else {
      if (!run.warmup) picture.steady = picture.steady && same_bytes(picture.path, path);
      fs::remove(path, ec);
    }
    if (!ec) return {};
    return Error{ErrorCode::io, "cannot keep an output", ec.message(), "", o_.folder.string()};
  }

  const MeasureOptions& o_;
  Measured measured_;
  std::regex expression_;
  int all_ = 0;
};

}  // namespace

std::string_view variant_name(int variant) {
  return variant == kA ? "A" : variant == kB ? "B" : "A again";
}

std::vector<double> Measured::values(int variant, double Run::*what) const {
  std::vector<double> values;
  for (const Run& run : runs) {
    if (run.variant == variant && !run.warmup) values.push_back(run.*what);
  }
  return values;
}

int64_t Measured::most_bytes(int variant) const {
  int64_t most = 0;
  for (const Run& run : runs) {
    if (run.variant == variant && !run.warmup) most = std::max(most, run.peak_bytes);
  }
  return most;
}

std::vector<int> order_of(const MeasureOptions& options, int repeat) {
  std::vector<int> order{kA};
  if (options.with_b) order.push_back(kB);
  if (options.with_again) order.push_back(kAgain);
  if (repeat % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

Result<Measured> measure(const MeasureOptions& options) {
  return Series(options).run();
}

}  // namespace chiaro::ab
