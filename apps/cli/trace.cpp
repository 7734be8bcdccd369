#include "trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/atomic_file.h"

namespace chiaro::cli {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void Trace::add(const OpTime& op) {
  // The launch has just ended.
  const double now = std::chrono::duration<double>(Clock::now() - begin_).count();
  events_.push_back({std::string(op.stage), std::string(op.op), std::string(op.label), std::string(op.kernel),
                     std::max(0.0, now - op.seconds), op.seconds});
}

Status Trace::save(const std::filesystem::path& path) const {
  CHIARO_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHIARO_TRY(file.write(R"({"displayTimeUnit":"ms","traceEvents":[)"));
  std::string_view comma = "\n";
  for (const Event& e : events_) {
    CHIARO_TRY(file.write(fmt::format(
        R"({}{{"ph":"X","pid":1,"tid":1,"ts":{:.3f},"dur":{:.3f},"name":{},"cat":{},"args":{{"label":{},"kernel":{}}}}})",
        comma, e.start * 1e6, e.seconds * 1e6, quoted(e.op), quoted(e.stage), quoted(e.label), quoted(e.kernel))));
    comma = ",\n";
  }
  CHIARO_TRY(file.write("\n]}\n"));
  return file.commit();
}

}  // namespace chiaro::cli
