#include "ab_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "ab/measure.h"
#include "ab/report.h"
#include "console.h"
#include "core/atomic_file.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "output_names.h"
#include "progress_bar.h"
#include "signals.h"

namespace chiaro::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kBarWidth = 24;

Error usage(std::string what, std::string mend) {
  return {ErrorCode::usage, std::move(what), "", std::move(mend), ""};
}

// A folder for outputs and messages, removed with all that is in it.
class WorkFolder {
 public:
  static Result<std::unique_ptr<WorkFolder>> create() {
    std::error_code ec;
    std::string name = (fs::temp_directory_path(ec) / "chiaro-ab-XXXXXX").string();
    if (ec || ::mkdtemp(name.data()) == nullptr) {
      return Error{ErrorCode::io, "cannot make a folder for outputs", ec ? ec.message() : "",
                   "set TMPDIR to a folder that can be written to", name};
    }
    return std::make_unique<WorkFolder>(name);
  }
  explicit WorkFolder(fs::path path) : path_(std::move(path)) {}
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Draws a bar on a terminal; elsewhere prints a line every half minute.
class Series {
 public:
  explicit Series(Console& console) : console_(console) {}
  void update(int done, int all, double left, const std::string& what) {
    std::string text = fmt::format("{}/{} runs, {}", done, all, what);
    if (left >= 0) text += ", " + duration_text(left) + " left";
    if (console_.terminal()) return console_.bar(bar_text(done, all, kBarWidth) + " " + text);
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kEvery) return;
    last_ = now;
    console_.line(text);
  }

 private:
  static constexpr std::chrono::seconds kEvery{30};
  Console& console_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Result<ab::MeasureOptions> read_options(const AbOptions& o) {
  if (o.b.empty() && !o.a_vs_a) return usage("there is nothing to compare A with", "give --b CMD, or --a-vs-a");
  if (!o.figure.empty() && o.clock != "wall") return usage("--figure and --clock exclude each other", "leave one out");
  ab::MeasureOptions m;
  m.commands = {ab::CommandText{o.a, o.shell, o.output_flag}, ab::CommandText{o.b, o.shell, o.output_flag}};
  m.with_b = !o.b.empty();
  m.with_again = o.a_vs_a;
  m.repeats = o.repeats;
  m.warmup = o.warmup;
  m.timeout = o.timeout;
  m.figure = o.figure;
  for (size_t i = 0; i < (m.with_b ? 2 : 1); ++i) CHIARO_TRY(ab::words_of(m.commands[i], "x"));
  if (m.with_b && names_output(m.commands[0]) != names_output(m.commands[1])) {
    return usage("only one of the commands has {out}", "put {out} into both or none");
  }
  if (o.min_psnr && !names_output(m.commands[0])) {
    return usage("--min-psnr has no outputs to compare", "put {out} into the commands, or use --output-flag");
  }
  return m;
}

Status check_targets(const AbOptions& o) {
  for (const auto& [path, flag] : {std::pair{&o.json, "--json"}, {&o.markdown, "--markdown"}, {&o.svg, "--svg"}}) {
    if (!path->empty()) CHIARO_TRY(check_writable(path_from_utf8(*path), flag));
  }
  if (o.report.empty()) return {};
  std::error_code ec;
  fs::create_directories(path_from_utf8(o.report), ec);
  if (ec) return Error{ErrorCode::io, "cannot make the folder of --report", ec.message(), "", o.report};
  return check_writable(path_from_utf8(o.report) / "report.json", "--report");
}

Status save_all(const AbOptions& o, const ab::Report& report) {
  if (!o.json.empty()) CHIARO_TRY(write_file(path_from_utf8(o.json), to_json(report)));
  if (!o.svg.empty()) CHIARO_TRY(write_file(path_from_utf8(o.svg), to_svg(report)));
  // A plot is linked where it lies beside the text.
  const fs::path svg = path_from_utf8(o.svg), markdown = path_from_utf8(o.markdown);
  const bool beside = !o.svg.empty() && svg.parent_path() == markdown.parent_path();
  const std::string plot = beside ? path_to_utf8(svg.filename()) : "";
  if (!o.markdown.empty()) CHIARO_TRY(write_file(markdown, to_markdown(report, plot, "")));
  if (o.report.empty()) return {};
  const fs::path folder = path_from_utf8(o.report);
  for (const ab::Picture& picture : report.measured.pictures) {
    if (picture.path.empty()) continue;
    std::error_code ec;
    fs::copy_file(picture.path, folder / picture.path.filename(), fs::copy_options::overwrite_existing, ec);
    if (ec) return Error{ErrorCode::io, "cannot copy an output", ec.message(), "", o.report};
  }
  CHIARO_TRY(write_file(folder / "plot.svg", to_svg(report)));
  CHIARO_TRY(write_file(folder / "report.md", to_markdown(report, "plot.svg", "./")));
  return write_file(folder / "report.json", to_json(report));
}

// Whether the outputs are as alike as was asked for.
bool alike(const ab::Report& report, double min_psnr) {
  if (!report.outputs || report.outputs->identical) return true;
  return report.outputs->difference && report.outputs->difference->psnr >= min_psnr;
}

Result<int> compare(const AbOptions& o, Console& console) {
  ab::Report report;
  CHIARO_ASSIGN(report.options, read_options(o));
  CHIARO_TRY(check_targets(o));
  CHIARO_ASSIGN(const auto work, WorkFolder::create());
  Series series(console);
  report.options.folder = work->path();
  report.options.cancel = &catch_interrupts();
  report.options.group = &group_to_end();
  report.options.progress = [&](int done, int all, double left, const std::string& what) {
    series.update(done, all, left, what);
  };
  report.clock = !o.figure.empty() ? ab::Clock::figure : o.clock == "cpu" ? ab::Clock::cpu : ab::Clock::wall;
  if (o.seed) report.seed = *o.seed;
  report.machine = ab::this_machine();
  CHIARO_ASSIGN(report.measured, ab::measure(report.options));
  console.end_bar();
  report.machine.load_after = ab::load_now();
  ab::evaluate(report);
  std::fputs(to_text(report).c_str(), stdout);
  CHIARO_TRY(save_all(o, report));
  if (report.outputs && !report.outputs->trouble.empty()) return int{kInternal};
  if (!o.min_psnr || alike(report, *o.min_psnr)) return int{kOk};
  console.line(fmt::format("below --min-psnr {}", *o.min_psnr));
  return int{kInternal};
}

}  // namespace

int run_ab(const AbOptions& options) {
  Console console;
  const auto code = compare(options, console);
  if (code.ok()) return *code;
  console.end_bar();
  console.error(code.error());
  return exit_code(code.error(), Phase::working);
}

}  // namespace chiaro::cli
