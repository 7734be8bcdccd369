// Standard error, shared by log lines, messages and the progress bar: a line printed while the bar stands goes above
// it.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "chiaro/chiaro.h"

namespace chiaro::cli {

// Thread rule: any thread. Failures of writing are ignored: there is nowhere left to report them.
class Console {
 public:
  Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console() { end_bar(); }

  bool terminal() const { return terminal_; }
  void line(std::string_view text);
  void error(const Error& error) { line(error.format()); }
  void notice(std::string_view text) { line("notice: " + std::string(text)); }
  // Draws (or redraws) the bar; terminals only.
  void bar(std::string text);
  void end_bar();
  // For LoadOptions::log; the console must outlive the Session.
  LogSink sink();

 private:
  void put(std::string_view text);

  std::mutex mutex_;
  bool terminal_;
  std::string bar_;
};

// -v once: info, twice: debug.
Severity severity_of(int verbose);

}  // namespace chiaro::cli
