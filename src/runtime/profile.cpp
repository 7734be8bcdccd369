#include "runtime/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/atomic_file.h"

namespace chiaro {
namespace {

std::string in_quotes(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void Profile::add(const StepTime& step, std::string_view category) {
  auto row = std::find(rows_.begin(), rows_.end(), step.device);
  if (row == rows_.end()) row = rows_.insert(row, std::string(step.device));
  Event event{std::string(step.op),
              std::string(step.label),
              std::string(step.kernel),
              std::string(category),
              static_cast<size_t>(row - rows_.begin()),
              step.start,
              step.seconds,
              step.bytes};
  events_.push_back(std::move(event));
}

std::string Profile::json() const {
  std::string text = R"({"displayTimeUnit":"ms","traceEvents":[)";
  std::string_view comma = "\n";
  for (size_t row = 0; row < rows_.size(); ++row) {
    text += fmt::format(R"({}{{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":{}}}}})", comma, row + 1,
                        in_quotes(rows_[row]));
    comma = ",\n";
  }
  auto begin = Clock::time_point::max();
  for (const Event& e : events_) begin = std::min(begin, e.start);
  for (const Event& e : events_) {
    const double start = std::chrono::duration<double, std::micro>(e.start - begin).count();
    const std::string name = e.label.empty() ? e.name : e.name + " " + e.label;
    text += fmt::format(R"({}{{"ph":"X","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{},"cat":{},)"
                        R"("args":{{"op":{},"label":{},"kernel":{},"bytes":{}}}}})",
                        comma, e.row + 1, start, e.seconds * 1e6, in_quotes(name), in_quotes(e.category),
                        in_quotes(e.name), in_quotes(e.label), in_quotes(e.kernel), e.bytes);
    comma = ",\n";
  }
  return text + "\n]}\n";
}

Status Profile::save(const std::filesystem::path& path) const {
  return write_file(path, json());
}

}  // namespace chiaro
