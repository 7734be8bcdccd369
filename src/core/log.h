// Log lines with a level and a category. There is no global logger: an Engine owns one and hands it down.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace chiaro {

enum class LogLevel : int { debug, info, notice, warning, error, off };
enum class LogCategory : int { core, graph, plan, run, weights, text, pipeline, app };

std::string_view log_level_name(LogLevel level);
std::string_view log_category_name(LogCategory category);

// Thread rule: may be called from any thread; the sink is called under a lock, one line at a time.
class Log {
 public:
  using Sink = std::function<void(LogLevel, LogCategory, std::string_view)>;
  // Writes to standard error through spdlog, from `level` up.
  static std::shared_ptr<Log> to_stderr(LogLevel level);
  static std::shared_ptr<Log> to_sink(LogLevel level, Sink sink);
  static std::shared_ptr<Log> silent();
  virtual ~Log() = default;

  bool enabled(LogLevel level) const { return level >= level_; }
  void write(LogLevel level, LogCategory category, std::string_view line) {
    if (enabled(level)) emit(level, category, line);
  }
  template <class... Args>
  void operator()(LogLevel level, LogCategory category, fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(level)) emit(level, category, fmt::format(format, std::forward<Args>(args)...));
  }

 protected:
  explicit Log(LogLevel level) : level_(level) {}
  virtual void emit(LogLevel level, LogCategory category, std::string_view line) = 0;

 private:
  LogLevel level_;
};

}  // namespace chiaro
