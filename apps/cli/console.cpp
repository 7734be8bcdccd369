#include "console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace chiaro::cli {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[2K";

size_t columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::debug: return "debug";
    case Severity::info: return "info";
    case Severity::notice: return "notice";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "?";
}

}  // namespace

Console::Console() : terminal_(::isatty(STDERR_FILENO) == 1) {}

void Console::put(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void Console::line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  std::string out;
  if (!bar_.empty()) out += kClearLine;
  out += text;
  out += '\n';
  out += bar_;
  put(out);
}

void Console::bar(std::string text) {
  const std::lock_guard lock(mutex_);
  if (!terminal_) return;
  // A line that wraps could not be redrawn in place. The bar is ASCII, so bytes are columns.
  if (const size_t most = columns() - 1; text.size() > most) text.resize(most);
  bar_ = std::move(text);
  put(std::string(kClearLine) + bar_);
}

void Console::end_bar() {
  const std::lock_guard lock(mutex_);
  if (bar_.empty()) return;
  bar_.clear();
  put(kClearLine);
}

LogSink Console::sink() {
  return [this](Severity severity, std::string_view category, std::string_view text) {
    std::string out(severity_name(severity));
    if (severity != Severity::notice) out += "[" + std::string(category) + "]";
    line(out + ": " + std::string(text));
  };
}

Severity severity_of(int verbose) {
  return verbose <= 0 ? Severity::notice : verbose == 1 ? Severity::info : Severity::debug;
}

}  // namespace chiaro::cli
