#include "convert_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "console.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "model_path.h"
#include "models/checkpoint.h"
#include "models/detect.h"
#include "progress_bar.h"
#include "signals.h"
#include "weights/convert.h"
#include "weights/convert_folder.h"
#include "weights/model_source.h"
#include "weights/printable.h"

namespace chiaro::cli {
namespace {

constexpr int kBarWidth = 30;
constexpr double kMega = 1e6;
constexpr double kQuietSeconds = 1;  // as the progress of a picture
constexpr std::string_view kTypes =
    "f32, f16, bf16, f8_e4m3, f8_e5m2, q4_0, q4_1, q5_0, q5_1, q8_0, q2_K, q3_K, q4_K, q5_K, q6_K, iq4_nl, iq4_xs, "
    "mxfp4 or nvfp4";

Result<DType> read_type(const std::string& name) {
  if (const auto type = convert_type_from_name(name)) return *type;
  return Error{ErrorCode::usage, "there is no type " + printable(name), "", "use " + std::string(kTypes), ""};
}

Result<ConvertRule> read_rule(const std::string& text) {
  const size_t split = text.rfind('=');  // a pattern may hold one, a type does not
  if (split == std::string::npos || split == 0) {
    return Error{ErrorCode::usage, printable(text) + " is no rule", "", "use REGEX=TYPE, such as \"attn.*=q8_0\"", ""};
  }
  CHIARO_ASSIGN(const DType type, read_type(text.substr(split + 1)));
  return ConvertRule{text.substr(0, split), type};
}

// What ComfyUI's reader of GGUF files calls the model; empty where it is none of those known here.
std::string architecture_of(const WeightMap& weights) {
  const models::FoundNetworks found = models::find_networks(weights);
  if (!found.unet) return {};
  const auto family = models::family_of(found.unet->config);
  if (!family) return {};
  return *family == models::Family::sd1 ? "sd1" : "sd2";
}

class ConvertBar {
 public:
  explicit ConvertBar(Console& console) : console_(console) {}
  void update(int64_t done, int64_t total) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const int percent = total > 0 ? static_cast<int>(done * 100 / total) : 100;
    if (percent == shown_ || seconds < kQuietSeconds || !console_.terminal()) return;
    shown_ = percent;
    const double left = done > 0 ? seconds * static_cast<double>(total - done) / static_cast<double>(done) : 0;
    console_.bar(fmt::format("{} {:.0f} of {:.0f} MB, {} left", bar_text(percent, 100, kBarWidth),
                             static_cast<double>(done) / kMega, static_cast<double>(total) / kMega,
                             duration_text(left)));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Console& console_;
  Clock::time_point start_ = Clock::now();
  int shown_ = -1;
};

bool is_model_folder(const std::filesystem::path& path) {
  std::error_code ec;
  return std::filesystem::exists(path / "model_index.json", ec);
}

// All components in one report, each tensor below its component's name.
ConvertReport joined(FolderReport folder, Console& console) {
  ConvertReport all;
  for (auto& [component, report] : folder.components) {
    const std::string prefix = component + "/";
    for (ConvertedTensor& t : report.tensors) {
      t.name.insert(0, prefix);
      all.tensors.push_back(std::move(t));
    }
    for (const SkippedTensor& s : report.skipped) all.skipped.push_back({prefix + s.name, s.reason});
    for (const SkippedTensor& s : report.others) all.others.push_back({prefix + s.name, s.reason});
    for (const std::string& name : report.scales) all.scales.push_back(prefix + name);
    for (const std::string& key : report.metadata_lost) all.metadata_lost.push_back(prefix + key);
    all.source_bytes += report.source_bytes;
    all.bytes += report.bytes;
  }
  if (!folder.left_out.empty()) {
    console.notice("left out, as it changes no picture: " + printable_list(folder.left_out));
  }
  return all;
}

// A folder becomes a folder, or by the ending of the name one checkpoint.
Result<ConvertReport> convert_whole(ConvertRequest& request, Console& console) {
  if (request.out.extension() != ".gguf" && request.out.extension() != ".safetensors") {
    CHIARO_ASSIGN(FolderReport report, convert_folder(request));
    return joined(std::move(report), console);
  }
  CHIARO_ASSIGN(const ModelSource source, open_model(request.in));
  CHIARO_ASSIGN(ConvertInput input, models::checkpoint_of(source));
  request.architecture = architecture_of(input.weights);
  return convert_input(request, std::move(input));
}

Result<ConvertReport> convert(const ConvertOptions& options, Console& console) {
  ConvertRequest request;
  CHIARO_ASSIGN(const ModelPath model, find_model(options.model));
  request.in = path_from_utf8(model.path);
  request.out = path_from_utf8(options.output);
  if (!options.type.empty()) {
    CHIARO_ASSIGN(request.type, read_type(options.type));
  }
  for (const std::string& text : options.rules) {
    CHIARO_ASSIGN(ConvertRule rule, read_rule(text));
    request.rules.push_back(std::move(rule));
  }
  request.join_rows = options.join_rows;
  request.report_error = options.report_error;
  ThreadPool pool(options.threads);
  request.pool = &pool;
  request.cancel = &catch_interrupts();
  ConvertBar bar(console);
  request.on_progress = [&bar](int64_t done, int64_t total) { bar.update(done, total); };
  if (is_model_folder(request.in)) return convert_whole(request, console);
  if (const auto source = open_weights(request.in); source.ok()) {  // what is wrong with it, the conversion says
    request.architecture = architecture_of(source->weights);
  }
  return convert_model(request);
}

// Standard output -----------------------------------------------------------------------------------------------------

struct Group {
  int64_t count = 0, bytes = 0;
};

void print_groups(const ConvertReport& report) {
  std::map<std::pair<DType, ConvertReason>, Group> groups;
  for (const ConvertedTensor& t : report.tensors) {
    Group& group = groups[{t.to, t.reason}];
    ++group.count;
    group.bytes += t.bytes;
  }
  for (const auto& [key, group] : groups) {
    std::printf("  %s\n", fmt::format("{:8} {:6} tensors {:10.1f} MB   {}", dtype_name(key.first), group.count,
                                      static_cast<double>(group.bytes) / kMega, convert_reason_text(key.second))
                              .c_str());
  }
}

void print_errors(const ConvertReport& report) {
  std::printf("error of each tensor that was encoded: RMSE, and its share of the root mean square of the numbers\n");
  for (const ConvertedTensor& t : report.tensors) {
    if (t.rms <= 0) continue;
    std::printf("  %s\n", fmt::format("{:10.3e} {:7.3f} %  {} -> {}  {} {}", t.rmse, 100 * t.rmse / t.rms,
                                      dtype_name(t.from), dtype_name(t.to), printable(t.name), t.shape.text())
                              .c_str());
  }
}

std::vector<std::string> names_of(const std::vector<SkippedTensor>& list) {
  std::vector<std::string> names;
  for (const SkippedTensor& s : list) names.push_back(s.name);
  return names;
}

// Standard error: what the user did not ask for.
void notices(const ConvertReport& report, Console& console) {
  int64_t clamped = 0, non_finite = 0, again = 0;
  std::vector<std::string> fallback;
  for (const ConvertedTensor& t : report.tensors) {
    clamped += t.clamped;
    non_finite += t.non_finite;
    again += is_block(t.from) && t.to != t.from ? 1 : 0;
    if (t.reason == ConvertReason::rows) fallback.push_back(t.name);
  }
  const auto list = [&](const std::vector<std::string>& names, const char* what) {
    if (!names.empty()) console.notice(fmt::format("{} {}: {}", names.size(), what, printable_list(names)));
  };
  list(fallback, "tensors have rows that blocks do not divide, and got q8_0 or f16");
  list(names_of(report.skipped), "tensors of types that are not read here were left out");
  list(names_of(report.others), "entries that are no tensors were left out");
  list(report.scales, "scales were multiplied into their weights");
  list(report.metadata_lost, "metadata keys do not fit the file format and were left out");
  if (again > 0) console.notice(fmt::format("{} tensors were in block types before: their errors add up", again));
  if (clamped > 0) console.notice(fmt::format("{} numbers were beyond the range of their type: clamped", clamped));
  if (non_finite > 0) console.notice(fmt::format("{} numbers are NaN or infinite in the source", non_finite));
}

}  // namespace

int run_convert(const ConvertOptions& options) {
  Console console;
  const auto report = convert(options, console);
  console.end_bar();
  if (!report.ok()) {
    console.error(report.error());
    // What is missing or damaged is the input; only the output's folder and disk are ours.
    std::error_code ec;
    const bool there = std::filesystem::exists(path_from_utf8(options.model), ec);
    return exit_code(report.error(), there ? Phase::working : Phase::reading);
  }
  notices(*report, console);
  std::printf("%s: %zu tensors, %.1f MB (before: %.1f MB)\n", options.output.c_str(), report->tensors.size(),
              static_cast<double>(report->bytes) / kMega, static_cast<double>(report->source_bytes) / kMega);
  print_groups(*report);
  if (options.report_error) print_errors(*report);
  return kOk;
}

}  // namespace chiaro::cli
