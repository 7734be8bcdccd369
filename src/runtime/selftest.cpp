#include "runtime/selftest.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "ops/catalogue.h"
#include "runtime/conformance_check.h"

namespace chiaro {
namespace {

void add_failure(SelfTestReport& report, const OpDef& op, const Kernel& kernel, std::string why) {
  ++report.failed;
  const auto known = std::find_if(report.failures.begin(), report.failures.end(),
                                  [&](const SelfTestFailure& f) { return f.op == op.name && f.kernel == kernel.name; });
  if (known != report.failures.end()) {
    ++known->failed;
    return;
  }
  report.failures.push_back({std::string(op.name), std::string(kernel.name), std::move(why), 1,
                             "--disable-op " + std::string(op.name) + "@" + report.device});
}

Status run_check(Device& device, const Variant& v, SelfTestReport& report) {
  CHIARO_ASSIGN(const TensorDesc out, v.infer());
  CHIARO_ASSIGN(const Expectation expected, expectation(v, out));
  const OpDef& op = *v.source->op;
  for (const Kernel& kernel : device.kernels(op.name)) {
    const VariantRun run = launch_variant(device, kernel, v, out, expected.values);
    if (run.refused) continue;
    ++report.checks;
    auto wrong = wrong_with(v, expected, run, kernel.name);
    if (wrong) add_failure(report, op, kernel, std::move(*wrong));
  }
  return {};
}

}  // namespace

std::string SelfTestReport::text() const {
  char line[200];
  std::snprintf(line, sizeof line, "self-test of %s: %d checks, %d failed, %.1f s\n", device.c_str(), checks, failed,
                seconds);
  std::string s = line;
  for (const SelfTestFailure& f : failures) {
    s += "FAILED " + f.op + ": " + std::to_string(f.failed) + " checks of " + f.kernel + "\n    " + f.why +
         "\n    without it: " + f.flags + "\n";
  }
  return s;
}

std::string SelfTestReport::json() const {
  nlohmann::json failing = nlohmann::json::array();
  for (const SelfTestFailure& f : failures) {
    failing.push_back({{"op", f.op}, {"kernel", f.kernel}, {"failed", f.failed}, {"why", f.why}, {"flags", f.flags}});
  }
  const nlohmann::json all = {{"device", device},     {"checks", checks},   {"failed", failed},  {"failures", failing},
                              {"not_here", not_here}, {"seconds", seconds}, {"passed", passed()}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<SelfTestReport> run_selftest(Engine& engine, std::string_view device) {
  Device* target = engine.device(device);
  if (target == nullptr) {
    return Error{ErrorCode::usage, "there is no device \"" + std::string(device) + "\"", "", "see: chiaro devices", ""};
  }
  SelfTestReport report;
  report.device = device;
  const auto start = std::chrono::steady_clock::now();
  for (const SelfTestChoice& choice : choose_selftest(*target)) {
    for (const Variant& v : choice.checks) CHIARO_TRY(run_check(*target, v, report));
  }
  for (const OpDef* op : op_catalogue()) {
    if (op->kind != OpKind::view && target->kernels(op->name).empty()) report.not_here.emplace_back(op->name);
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace chiaro
