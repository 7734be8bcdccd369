#include "core/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>

namespace chiaro {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info:
    case LogLevel::notice: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: return spdlog::level::off;
  }
  return spdlog::level::info;
}

class StderrLog final : public Log {
 public:
  explicit StderrLog(LogLevel level)
      : Log(level), logger_("chiaro", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()) {
    logger_.set_pattern("%^%v%$");
    logger_.set_level(spdlog::level::trace);
  }

 protected:
  void emit(LogLevel level, LogCategory category, std::string_view line) override {
    logger_.log(spdlog_level(level), "[{} {}] {}", log_category_name(category), log_level_name(level), line);
  }

 private:
  spdlog::logger logger_;
};

class SinkLog final : public Log {
 public:
  SinkLog(LogLevel level, Sink sink) : Log(level), sink_(std::move(sink)) {}

 protected:
  void emit(LogLevel level, LogCategory category, std::string_view line) override {
    const std::lock_guard lock(mutex_);
    sink_(level, category, line);
  }

 private:
  std::mutex mutex_;
  Sink sink_;
};

}  // namespace

std::string_view log_level_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::notice: return "notice";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
    case LogLevel::off: return "off";
  }
  return "?";
}

std::string_view log_category_name(LogCategory category) {
  switch (category) {
    case LogCategory::core: return "core";
    case LogCategory::graph: return "graph";
    case LogCategory::plan: return "plan";
    case LogCategory::run: return "run";
    case LogCategory::weights: return "weights";
    case LogCategory::text: return "text";
    case LogCategory::pipeline: return "pipeline";
    case LogCategory::app: return "app";
  }
  return "?";
}

std::shared_ptr<Log> Log::to_stderr(LogLevel level) {
  return std::make_shared<StderrLog>(level);
}
std::shared_ptr<Log> Log::to_sink(LogLevel level, Sink sink) {
  return std::make_shared<SinkLog>(level, std::move(sink));
}
std::shared_ptr<Log> Log::silent() {
  return to_sink(LogLevel::off, [](LogLevel, LogCategory, std::string_view) {});
}

}  // namespace chiaro
