#include "synth_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "console.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "models/synth.h"
#include "pipeline/clip_vocabulary.h"
#include "progress_bar.h"
#include "signals.h"

namespace chiaro::cli {
namespace {

constexpr int kBarWidth = 30;
constexpr double kMega = 1e6;

std::filesystem::path find_merges() {
  std::error_code ec;
  for (const std::filesystem::path& folder : shipped_model_folders()) {
    const std::filesystem::path file = folder / "clip-vocab" / "merges.txt";
    if (std::filesystem::exists(file, ec)) return file;
  }
  return {};
}

// The types as other programs call them, too.
std::optional<DType> type_from_name(const std::string& name) {
  if (name == "fp8" || name == "f8_e4m3fn") return DType::f8_e4m3;
  return dtype_from_name(name);
}

Result<models::SynthReport> synth(const SynthOptions& options, Console& console) {
  const auto model = models::synth_model_from_name(options.model);
  if (!model) {
    return Error{ErrorCode::usage, "there is no model \"" + options.model + "\" to make", "",
                 "use sd15, sd21 or sd-turbo", ""};
  }
  const auto type = type_from_name(options.type);
  if (!type) {
    return Error{ErrorCode::usage, "there is no type \"" + options.type + "\"", "",
                 "use f32, f16, bf16, f8_e4m3 or f8_e5m2", ""};
  }
  models::SynthRequest request;
  request.spec = models::synth_spec(*model);
  request.out = path_from_utf8(options.out);
  request.type = *type;
  request.seed = options.seed;
  request.merges = find_merges();
  request.cancel = &catch_interrupts();
  int shown = -1;
  request.on_progress = [&](int64_t done, int64_t total) {
    const int percent = total > 0 ? static_cast<int>(done * 100 / total) : 100;
    if (percent == shown || !console.terminal()) return;
    shown = percent;
    console.bar(fmt::format("{} {:.0f} of {:.0f} MB", bar_text(percent, 100, kBarWidth),
                            static_cast<double>(done) / kMega, static_cast<double>(total) / kMega));
  };
  return models::synthesize(request);
}

}  // namespace

int run_synth(const SynthOptions& options) {
  Console console;
  const auto report = synth(options, console);
  console.end_bar();
  if (!report.ok()) {
    console.error(report.error());
    return exit_code(report.error(), Phase::working);
  }
  std::printf("%s: %lld tensors, %.1f M parameters, %.1f MB\n", options.out.c_str(),
              static_cast<long long>(report->tensors), static_cast<double>(report->parameters) / kMega,
              static_cast<double>(report->bytes) / kMega);
  return kOk;
}

}  // namespace chiaro::cli
