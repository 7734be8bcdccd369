// `chiaro run FILE.graph`: a graph's outputs for seeded inputs, a line each, to be compared between devices, flags and
// versions.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include "commands.h"
#include "console.h"
#include "core/sha256.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "graph_run.h"
#include "output_names.h"
#include "plan/print.h"
#include "runtime/executor.h"
#include "runtime/profile.h"
#include "signals.h"

namespace chiaro::cli {
namespace {

// Host memory of the graph's inputs and outputs.
struct Ports {
  std::vector<TensorDataPtr> inputs;
  std::vector<std::vector<std::byte>> outputs;
  std::vector<Binding> in, out;
};

Result<Ports> bind(const ExecutionPlan& plan, uint64_t seed) {
  Ports ports;
  for (const PlanPort& port : plan.inputs) {
    CHIARO_ASSIGN(auto data, seeded_tensor(seed, port.name, port.desc));
    ports.in.push_back({port.name, const_cast<std::byte*>(data->bytes), data->desc.dense_bytes()});
    ports.inputs.push_back(std::move(data));
  }
  for (const PlanPort& port : plan.outputs) {
    ports.outputs.emplace_back(static_cast<size_t>(port.desc.dense_bytes()));
    ports.out.push_back({port.name, ports.outputs.back().data(), port.desc.dense_bytes()});
  }
  return ports;
}

// Prints one output; returns how many of its values are not finite.
int64_t print_output(const PlanPort& port, std::span<const std::byte> bytes) {
  constexpr size_t kDigits = 16;  // of the hash
  const std::string hash = to_hex(sha256(bytes)).substr(0, kDigits);
  const std::string type = dense(port.desc.dtype, port.desc.shape).text();
  const int64_t count = port.desc.count();
  if (is_block(port.desc.dtype) || count == 0) {
    std::puts(fmt::format("{}  {}  sha256 {}", port.name, type, hash).c_str());
    return 0;
  }
  double least = std::numeric_limits<double>::infinity(), greatest = -least, sum = 0;
  int64_t strange = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = load_element(port.desc.dtype, bytes.data(), i);
    if (!std::isfinite(value)) {
      ++strange;
      continue;
    }
    least = std::min(least, value);
    greatest = std::max(greatest, value);
    sum += value;
  }
  std::string line = fmt::format("{}  {}  sha256 {}", port.name, type, hash);
  if (strange < count) {
    line += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", least, greatest,
                        sum / static_cast<double>(count - strange));
  }
  if (strange > 0) line += fmt::format("  NOT FINITE: {} of {} values", strange, count);
  std::puts(line.c_str());
  return strange;
}

// Runs it again and says what that took: the first run compiled and packed what the others only use.
Status time_again(Executor& executor, Ports& ports, const RunOptions& options, int count, Console& console) {
  constexpr double kMilli = 1e3;
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    CHIARO_TRY(executor.run(ports.in, ports.out, options));
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * kMilli);
  }
  std::sort(times.begin(), times.end());
  console.line(fmt::format("median {:.4f} ms of {} runs after the first, from {:.4f} to {:.4f}",
                           times[times.size() / 2], count, times.front(), times.back()));
  return {};
}

Status run(const RunCommandOptions& o, Console& console) {
  if (!o.profile.empty()) CHIARO_TRY(check_writable(path_from_utf8(o.profile), "--profile"));
  CHIARO_ASSIGN(const Planner planner, make_planner(o.device, o.skip));
  const auto data = [&](StorageKind, const std::string& name, const TensorDesc& desc) {
    return seeded_tensor(o.seed, name, desc);
  };
  CHIARO_ASSIGN(const Graph graph, read_graph(o.graph, data));
  CHIARO_ASSIGN(const auto plan, make_plan(graph, planner.engine->devices(), planner.options));
  if (const std::string moved = moved_sentence(*plan); !moved.empty()) console.notice(moved);
  CHIARO_ASSIGN(Ports ports, bind(*plan, o.seed));
  CHIARO_ASSIGN(const auto executor, Executor::create(*planner.engine, plan));
  RunOptions options;
  options.cancel = &catch_interrupts();
  options.serial = o.serial;
  Profile profile;
  if (!o.profile.empty()) {
    options.on_step = [&](const StepTime& step) { profile.add(step, "run"); };
  }
  CHIARO_TRY(executor->run(ports.in, ports.out, options));
  if (!o.profile.empty()) CHIARO_TRY(profile.save(path_from_utf8(o.profile)));
  options.on_step = nullptr;
  if (o.again > 0) CHIARO_TRY(time_again(*executor, ports, options, o.again, console));
  int64_t strange = 0;
  for (size_t i = 0; i < plan->outputs.size(); ++i) strange += print_output(plan->outputs[i], ports.outputs[i]);
  if (strange == 0) return {};
  return Error{ErrorCode::non_finite, fmt::format("{} values of the outputs are not finite", strange), "",
               "try --no-fuse, or another --seed", o.graph};
}

}  // namespace

int run_graph(const RunCommandOptions& options) {
  Console console;
  const Status status = run(options, console);
  if (status.ok()) return kOk;
  console.error(status.error());
  return exit_code(status.error(), status.error().code == ErrorCode::non_finite ? Phase::working : Phase::reading);
}

}  // namespace chiaro::cli
