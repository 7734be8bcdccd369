#include "bench_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "console.h"
#include "core/atomic_file.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "model_path.h"
#include "pipeline/model_bench.h"
#include "progress_bar.h"
#include "signals.h"
#include "synth_command.h"

namespace chiaro::cli {
namespace {

constexpr int kBarWidth = 30;

struct StandardFile {
  const char* name;
  const char* type;
};
constexpr StandardFile kStandard[] = {
    {"sd15-f16.safetensors", "f16"}, {"sd15-q8_0.gguf", "q8_0"}, {"sd15-q4_K.gguf", "q4_K"}};

// The files of --models, each made where it is missing. Nothing: an error was printed, and `code` says which.
std::vector<std::string> standard_models(const std::string& folder, Console& console, int& code) {
  const std::filesystem::path root = path_from_utf8(folder);
  std::error_code ec;
  std::filesystem::create_directories(root, ec);
  std::vector<std::string> paths;
  for (const StandardFile& file : kStandard) {
    SynthOptions synth;
    synth.model = "sd15";
    synth.out = path_to_utf8(root / file.name);
    synth.type = file.type;
    if (!std::filesystem::exists(root / file.name, ec)) {
      console.line("making " + synth.out);
      code = run_synth(synth);
      if (code != kOk) return {};
    }
    paths.push_back(synth.out);
  }
  return paths;
}

LoadOptions load_options(const BenchOptions& o, std::string model, Console& console) {
  LoadOptions load;
  load.model = std::move(model);
  load.parts.diffusion_model = o.parts.diffusion_model;
  load.parts.llm = o.parts.llm;
  load.parts.vae = o.parts.vae;
  load.threads = o.device.threads;
  load.log = console.sink();
  load.log_level = Severity::warning;
  load.disabled_ops = o.device.disabled_ops;
  load.precision = o.precision;
  load.fuse = !o.device.no_fuse.value_or(false);
  load.devices = o.device.device_list();
  load.backend = o.device.placement();
  return load;
}

Status bench(const BenchOptions& o, const std::vector<std::string>& paths, Console& console) {
  ModelBenchOptions options;
  for (const std::string& path : paths) options.models.push_back(load_options(o, path, console));
  if (paths.empty() && !o.parts.diffusion_model.empty()) options.models.push_back(load_options(o, "", console));
  if (options.models.empty()) {
    CHIARO_ASSIGN(const ModelPath shipped, find_model(std::nullopt));
    options.models.push_back(load_options(o, shipped.path, console));
  }
  options.width = o.width;
  options.height = o.height;
  options.steps = o.steps;
  options.rounds = o.rounds;
  options.profile = o.top > 0;
  options.cancel = &catch_interrupts();
  options.on_progress = [&](int done, int all) {
    if (!console.terminal()) return;
    console.bar(fmt::format("{} {} of {} pictures", bar_text(done, all, kBarWidth), done, all));
  };
  CHIARO_ASSIGN(const ModelBench report, bench_models(options));
  console.end_bar();
  std::fputs(report.text(o.top).c_str(), stdout);
  return o.json.empty() ? Status{} : write_file(path_from_utf8(o.json), report.json());
}

}  // namespace

int run_bench(const BenchOptions& options) {
  Console console;
  std::vector<std::string> paths;
  Status status;
  for (const std::string& model : options.models) {
    auto found = find_model(model);
    if (!found.ok()) status = found.error();
    if (found.ok()) paths.push_back(found->path);
  }
  if (status.ok() && !options.standard.empty()) {
    int code = kOk;
    for (std::string& path : standard_models(options.standard, console, code)) paths.push_back(std::move(path));
    if (code != kOk) return code;
  }
  if (status.ok()) status = bench(options, paths, console);
  console.end_bar();
  if (status.ok()) return kOk;
  console.error(status.error());
  return exit_code(status.error(), Phase::working);
}

}  // namespace chiaro::cli
