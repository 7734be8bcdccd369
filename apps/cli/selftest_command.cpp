#include "selftest_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "console.h"
#include "exit_code.h"
#include "runtime/selftest.h"

namespace chiaro::cli {

void add_selftest(CLI::App& app, SelfTestCommandOptions& o) {
  auto* c = app.add_subcommand("selftest", "check the kernels of a device, in a few seconds; for bug reports");
  c->add_option("-d,--device", o.device, "the device (default: cpu)")->type_name("NAME");
  c->add_option("-t,--threads", o.threads, "0: one per available core")
      ->check(CLI::Range(0, 1024).description(""))
      ->type_name("N");
  c->add_option("--disable-op", o.disabled_ops, "OP or OP@DEVICE: do without its kernels; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("OP");
  c->add_flag("--json", o.json, "as JSON, on standard output");
  c->footer(
      "What fails is named, with the flag that does without it.\n\n"
      "Examples:\n  chiaro selftest\n  chiaro selftest -d metal0 --json\n");
}

int run_selftest_command(const SelfTestCommandOptions& options) {
  EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.disabled_ops = options.disabled_ops;
  if (options.device != "cpu") engine_options.devices = {options.device};
  const auto tested = [&]() -> Result<SelfTestReport> {
    CHIARO_ASSIGN(const auto engine, Engine::create(std::move(engine_options)));
    // The device's name is what stands before its options: "softgpu:apple7,checks=off".
    return run_selftest(*engine, std::string_view(options.device).substr(0, options.device.find(',')));
  }();
  if (!tested.ok()) {
    Console().error(tested.error());
    return exit_code(tested.error(), Phase::working);
  }
  std::fputs((options.json ? tested->json() : tested->text()).c_str(), stdout);
  return tested->passed() ? kOk : kInternal;
}

}  // namespace chiaro::cli
