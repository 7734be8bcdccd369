// `chiaro ops`: the operations and their kernels.
#include <cstdio>

#include "commands.h"
#include "console.h"
#include "exit_code.h"
#include "ops/catalogue.h"
#include "ops_tables.h"
#include "runtime/conformance.h"
#include "runtime/ops_bench.h"
#include "runtime/ops_docs.h"

namespace chiaro::cli {
namespace {

Error no_such_op(const std::string& name) {
  return {ErrorCode::usage, "there is no op \"" + name + "\"", "", "see: chiaro ops list", ""};
}

Result<int> run_action(const OpsOptions& options, Engine& engine) {
  switch (options.action) {
    case OpsOptions::Action::list:
      std::fputs((options.markdown ? ops_markdown() : ops_table(engine)).c_str(), stdout);
      return int{kOk};
    case OpsOptions::Action::show: {
      const OpDef* op = find_op(options.ops.front());
      if (op == nullptr) return no_such_op(options.ops.front());
      std::fputs(op_card(*op).c_str(), stdout);
      return int{kOk};
    }
    case OpsOptions::Action::test: {
      ConformanceOptions conformance;
      conformance.ops = options.ops;
      CHIARO_ASSIGN(const ConformanceReport report, run_conformance(engine, options.device, conformance));
      std::fputs(report.text().c_str(), stdout);
      return report.passed() ? int{kOk} : int{kInternal};
    }
    case OpsOptions::Action::bench: {
      OpsBenchOptions bench;
      bench.ops = options.ops;
      bench.dtype = dtype_from_name(options.type).value_or(DType::f32);  // the parser knows the names
      CHIARO_ASSIGN(const OpsBench report, bench_ops(engine, options.device, bench));
      std::fputs((options.markdown ? report.markdown() : report.text()).c_str(), stdout);
      return int{kOk};
    }
  }
  return int{kInternal};
}

}  // namespace

int run_ops(const OpsOptions& options) {
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  if (options.device != "cpu") engine_options.devices = {options.device};
  auto engine = Engine::create(std::move(engine_options));
  auto code = engine.ok() ? run_action(options, **engine) : Result<int>(engine.error());
  if (code.ok()) return *code;
  Console().error(code.error());
  return exit_code(code.error(), Phase::working);
}

}  // namespace chiaro::cli
