#include "synth_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "console.h"
#include "core/thread_pool.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "models/synth.h"
#include "models/synth_part.h"
#include "pipeline/clip_vocabulary.h"
#include "progress_bar.h"
#include "signals.h"
#include "weights/convert.h"
#include "weights/model_source.h"

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

// A GGUF file is converted from a safetensors file beside it, which is gone afterwards.
class Converted {
 public:
  Converted(std::filesystem::path out, std::optional<DType> type) : out_(std::move(out)), type_(type), plain_(out_) {
    plain_ += ".unfinished.safetensors";
  }
  ~Converted() {
    std::error_code ec;
    std::filesystem::remove(plain_, ec);
  }
  Converted(const Converted&) = delete;
  Converted& operator=(const Converted&) = delete;

  const std::filesystem::path& plain() const { return plain_; }
  // `said`: what the file says beside its tensors.
  Status finish(GgufMetadata said, const std::atomic<bool>& cancel, models::SynthReport& report) const {
    CHIARO_ASSIGN(ModelComponent plain, open_weights(plain_));
    ConvertInput input;
    input.weights = std::move(plain.weights);
    input.metadata = std::move(plain.metadata);
    input.gguf = std::move(said);
    ThreadPool pool(0);
    ConvertRequest request;
    request.in = plain_;
    request.out = out_;
    request.type = type_;
    request.pool = &pool;
    request.cancel = &cancel;
    CHIARO_ASSIGN(const ConvertReport converted, convert_input(request, std::move(input)));
    report.bytes = converted.bytes;
    return {};
  }

 private:
  std::filesystem::path out_;
  std::optional<DType> type_;
  std::filesystem::path plain_;
};

Result<DType> read_type(const std::string& name) {
  if (const auto type = convert_type_from_name(name)) return *type;
  return Error{ErrorCode::usage, "there is no type \"" + name + "\"", "",
               "use f32, f16, bf16, f8_e4m3, f8_e5m2, or for a .gguf file q8_0, q4_K, ...", ""};
}

// What the name of the file cannot hold, before anything is made.
Status check_output(const std::filesystem::path& out, DType type, bool one_network) {
  const bool gguf = out.extension() == ".gguf", narrow = type == DType::f8_e4m3 || type == DType::f8_e5m2;
  const auto refuse = [&](std::string what, std::string mend) {
    return Error{ErrorCode::usage, std::move(what), "", std::move(mend), path_to_utf8(out)};
  };
  if (gguf && narrow) return refuse("a GGUF file cannot hold FP8", "write a .safetensors file, or use q8_0");
  if (!gguf && is_block(type)) return refuse("only a GGUF file can hold block types", "give a name that ends in .gguf");
  if (one_network && !gguf && out.extension() != ".safetensors") {
    return refuse("this model is one network in one file", "give a name that ends in .safetensors or .gguf");
  }
  return {};
}

Result<models::SynthReport> synth(const SynthOptions& options, Console& console) {
  const bool taesd = options.model == "taesd";
  const auto model = models::synth_model_from_name(options.model);
  const auto part = models::synth_part_from_name(options.model);
  if (!model && !taesd && !part) {
    return Error{ErrorCode::usage, "there is no model \"" + options.model + "\" to make", "",
                 "use sd15, sd21, sd-turbo, taesd, zimage, qwen-image, qwen3-4b, qwen2.5-vl-7b, flux-vae or "
                 "qwen-image-vae",
                 ""};
  }
  const models::SynthSize& size = options.size;
  if ((size.layers != 0 || size.width != 0 || size.context_width != 0 || size.vocabulary != 0) && !part) {
    return Error{ErrorCode::usage, "sizes are for parts of models of flows", "",
                 "use --layers and its like with zimage, qwen-image and their text encoders", ""};
  }
  models::SynthRequest request;
  CHIARO_ASSIGN(request.type, read_type(options.type));
  if (model) request.spec = models::synth_spec(*model);
  request.out = path_from_utf8(options.out);
  CHIARO_TRY(check_output(request.out, request.type, !model));
  std::optional<Converted> converted;
  if (request.out.extension() == ".gguf") {
    const bool plain = request.type == DType::f32 || request.type == DType::bf16;
    converted.emplace(request.out, request.type);
    request.out = converted->plain();
    if (!plain) request.type = DType::f16;
  }
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
  CHIARO_ASSIGN(models::SynthReport report, part    ? synthesize_part(*part, size, request, converted.has_value())
                                            : taesd ? models::synthesize_taesd(request)
                                                    : models::synthesize(request));
  if (!converted) return report;
  GgufMetadata said;
  if (part) {
    CHIARO_ASSIGN(said, models::synth_part_metadata(*part, size));
  }
  if (model) said.add("general.architecture", std::string(*model == models::SynthModel::sd15 ? "sd1" : "sd2"));
  CHIARO_TRY(converted->finish(std::move(said), *request.cancel, report));
  return report;
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
