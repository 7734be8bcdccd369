// `chiaro generate`: everything that can go wrong without a model is checked first, then load, generate, save.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <iostream>
#include <iterator>

#include "chiaro/chiaro.h"
#include "commands.h"
#include "console.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "model_path.h"
#include "output_names.h"
#include "pipeline/image/image_io.h"
#include "pipeline/image/metadata.h"
#include "progress_bar.h"
#include "runtime/profile.h"
#include "signals.h"

namespace chiaro::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class T>
void override_with(T& field, const std::optional<T>& given) {
  if (given) field = *given;
}

std::string prompt_from_stdin() {
  std::string text{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

struct Job {
  GenerateRequest request;  // its `engine`: what the session is loaded with
  ModelPath model;
  OutputNames outputs;
  PreviewOptions preview;
  std::filesystem::path preview_path;
  std::vector<std::string> notices;  // of what --from recorded and this run leaves out
};

// Previews go to a file of their own, which is known to be writable before the work begins.
Status read_preview(const PreviewFlags& flags, Job& job) {
  constexpr std::pair<std::string_view, PreviewKind> kKinds[] = {
      {"none", PreviewKind::none}, {"proj", PreviewKind::proj}, {"tae", PreviewKind::tae}, {"vae", PreviewKind::vae}};
  for (const auto& [name, kind] : kKinds) {
    if (flags.kind == name) job.preview.kind = kind;
  }
  job.preview.interval = flags.interval;
  job.preview.noisy = flags.noisy;
  if (job.preview.kind == PreviewKind::none) return {};
  CHIARO_TRY(check_picture_name(flags.path, "--preview-path"));
  job.preview_path = path_from_utf8(flags.path);
  CHIARO_TRY(check_writable(job.preview_path, "--preview-path"));
  std::error_code ec;
  const auto place = [&](const std::filesystem::path& path) { return std::filesystem::weakly_canonical(path, ec); };
  if (place(job.preview_path) != place(job.outputs.name(0))) return {};
  return Error{ErrorCode::usage, "--preview-path and --output are the same file", "",
               "give the previews a file of their own", flags.path};
}

void override_engine(const DeviceOptions& given, EngineSettings& engine) {
  if (!given.devices.empty()) engine.devices = given.device_list();
  engine.backend = given.placement(engine.backend);
  if (!given.disabled_ops.empty()) engine.disabled_ops = given.disabled_ops;
  if (given.no_fuse) engine.fuse = !*given.no_fuse;
}

void override_parts(const PartOptions& given, EngineSettings& engine) {
  const auto take = [](std::string& field, const std::string& flag) {
    if (!flag.empty()) field = flag;
  };
  take(engine.parts.diffusion_model, given.diffusion_model);
  take(engine.parts.vae, given.vae);
  take(engine.parts.clip_l, given.clip_l);
  take(engine.parts.clip_g, given.clip_g);
  take(engine.parts.t5xxl, given.t5xxl);
  take(engine.parts.llm, given.llm);
  take(engine.parts.taesd, given.taesd);
  take(engine.prediction, given.prediction);
}

void override_tiling(const TilingFlags& given, VaeTiling& tiling) {
  if (given.mode)
    tiling.mode = *given.mode == "on" ? Tiling::on : *given.mode == "off" ? Tiling::off : Tiling::automatic;
  override_with(tiling.tile_width, given.width);
  override_with(tiling.tile_height, given.height);
  override_with(tiling.overlap, given.overlap);
}

// The recorded parts belong to the recorded model: another one comes with its own. Says which are left out, where the
// recorded model was more than they.
void leave_out_parts(EngineSettings& engine, bool parts_are_the_model, std::vector<std::string>& notices) {
  const ModelParts& p = engine.parts;
  std::string left;
  for (const auto& [flag, value] : {std::pair{"--diffusion-model", p.diffusion_model},
                                    {"--vae", p.vae},
                                    {"--clip_l", p.clip_l},
                                    {"--llm", p.llm},
                                    {"--taesd", p.taesd},
                                    {"--prediction", engine.prediction}}) {
    if (!value.empty()) left += fmt::format("{}{} {}", left.empty() ? "" : ", ", flag, value);
  }
  engine.parts = {};
  engine.prediction.clear();
  if (left.empty() || parts_are_the_model) return;
  notices.push_back(
      fmt::format("--model takes the place of the recorded model with its parts; left out: {} (give them "
                  "again to keep them)",
                  left));
}

// Starts from the stored run of --from, then lets the given flags override it.
Status read_request(const GenerateOptions& o, GenerateRequest& request, std::optional<std::string>& model,
                    std::vector<std::string>& notices) {
  if (!o.from.empty()) {
    CHIARO_ASSIGN(const PngText text, read_png_text(path_from_utf8(o.from)));
    CHIARO_ASSIGN(const StoredRequest stored, stored_request(text, o.from));
    request = stored.request;
    const ModelParts& parts = request.engine.parts;
    const bool parts_are_the_model = !parts.diffusion_model.empty() && parts.diffusion_model == stored.model;
    if (!parts_are_the_model && !stored.model.empty()) model = stored.model;
    if (o.model && *o.model != stored.model) leave_out_parts(request.engine, parts_are_the_model, notices);
  } else if (!o.prompt) {
    return Error{ErrorCode::usage, "there is no prompt", "", "say what to paint: -p \"a red apple\"", "--prompt"};
  }
  override_with(request.prompt, o.prompt);
  if (o.prompt == "-") request.prompt = prompt_from_stdin();
  override_with(request.negative_prompt, o.negative_prompt);
  override_with(request.width, o.width);
  override_with(request.height, o.height);
  override_with(request.steps, o.steps);
  override_with(request.cfg_scale, o.cfg_scale);
  override_with(request.flow_shift, o.flow_shift);
  override_with(request.seed, o.seed);
  override_with(request.sampling_method, o.sampling_method);
  override_with(request.schedule, o.schedule);
  override_with(request.rng, o.rng);
  override_with(request.eta, o.eta);
  override_with(request.clip_skip, o.clip_skip);
  override_with(request.precision, o.precision);
  request.random_seed = o.random_seed;
  request.batch_count = o.batch_count;
  request.batch_size = o.batch_size;
  request.strict = o.strict;
  override_tiling(o.tiling, request.vae_tiling);
  if (o.model) model = o.model;
  override_engine(o.device, request.engine);
  override_parts(o.parts, request.engine);
  return {};
}

Result<Job> prepare(const GenerateOptions& o) {
  Job job;
  std::optional<std::string> model;
  CHIARO_TRY(read_request(o, job.request, model, job.notices));
  CHIARO_ASSIGN(job.outputs, OutputNames::make(o.output));
  CHIARO_TRY(read_preview(o.preview, job));
  if (!o.profile.empty()) CHIARO_TRY(check_writable(path_from_utf8(o.profile), "--profile"));
  const std::string& denoiser = job.request.engine.parts.diffusion_model;
  if (!denoiser.empty() && (!model || *model == denoiser)) {  // the parts are the model
    job.model.name = denoiser;
    return job;
  }
  CHIARO_ASSIGN(job.model, find_model(model));
  return job;
}

int64_t process_peak_bytes() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#ifdef __APPLE__
  return usage.ru_maxrss;
#else
  return usage.ru_maxrss * 1024;
#endif
}

double mib(int64_t bytes) {
  return static_cast<double>(bytes) / 0x1p20;
}

class GenerateCommand {
 public:
  explicit GenerateCommand(const GenerateOptions& options)
      : options_(options), cancel_(catch_interrupts()), bar_(console_, std::max(1, options.batch_size)) {}

  int run() {
    for (const std::string& sentence : options_.without_effect) console_.notice(sentence);
    auto job = prepare(options_);
    if (!job.ok()) return fail(job.error(), Phase::reading);
    for (const std::string& sentence : job->notices) console_.notice(sentence);
    auto session = load(*job);
    if (!session.ok()) return fail(session.error(), Phase::reading);
    if (cancel_) return fail({ErrorCode::cancelled, "interrupted", "", "", "load"}, Phase::working);
    auto result = (*session)->generate(job->request, callbacks(*job));
    console_.end_bar();
    Status profiled;
    if (!options_.profile.empty()) profiled = profile_.save(path_from_utf8(options_.profile));
    if (!result.ok()) return finish(fail(result.error(), Phase::working));
    summarise(*result);
    if (!profiled.ok()) return finish(fail(profiled.error(), Phase::working));
    return finish(kOk);
  }

 private:
  Result<std::shared_ptr<Session>> load(const Job& job) {
    LoadOptions load;
    load.model = job.model.path;
    load.taesd_preview_only = options_.parts.taesd_preview_only;
    load.threads = options_.device.threads;
    load.weight_cache = options_.weight_cache;
    load.one_request = true;
    load.log = console_.sink();
    load.log_level = severity_of(options_.verbose);
    const EngineSettings& engine = job.request.engine;
    load.disabled_ops = engine.disabled_ops;
    load.fuse = engine.fuse;
    load.devices = engine.devices;
    load.backend = engine.backend;
    load.parts = engine.parts;
    load.prediction = engine.prediction;
    return Session::load(load);
  }

  Callbacks callbacks(const Job& job) {
    Callbacks c;
    c.cancel = &cancel_;
    c.on_progress = [this](const Progress& progress) { bar_.update(progress); };
    c.on_picture = [this, &job](const Picture& picture, int index, const GenerateRequest& used) {
      return save(job, picture, index, used);
    };
    c.preview = job.preview;
    c.on_preview = [&job](const Picture& p, int, int) {
      return save_png(job.preview_path, p.width, p.height, p.rgb, {});
    };
    if (!options_.profile.empty()) {
      c.on_op = [this](const OpTime& t) {
        profile_.add({t.op, t.label, t.kernel, t.seconds, t.device, t.start, t.bytes}, t.stage);
      };
    }
    return c;
  }

  Status save(const Job& job, const Picture& picture, int index, const GenerateRequest& used) {
    const auto start = Clock::now();
    const std::string path = path_to_utf8(job.outputs.name(index));
    CHIARO_TRY(save_picture(path, picture, used, job.model.name));
    saved_.push_back(path);
    save_seconds_ += seconds_since(start);
    if (options_.verbose > 0) console_.line(fmt::format("saved {} (seed {})", saved_.back(), picture.seed));
    return {};
  }

  void summarise(const GenerateResult& result) {
    const GenerateRequest& used = result.used;
    std::string times;
    for (const StageTime& t : result.times) times += fmt::format("{} {:.2f} s, ", stage_name(t.stage), t.seconds);
    console_.line(fmt::format("{}x{}, {} steps of {}, seed {}", used.width, used.height, used.steps,
                              used.sampling_method, used.seed));
    console_.line(fmt::format("time: {}save {:.2f} s", times, save_seconds_));
    console_.line(fmt::format("memory: {:.1f} MiB at most for the run, {:.1f} MiB of weights, process {:.1f} MiB",
                              mib(result.peak_bytes), mib(result.weight_bytes), mib(process_peak_bytes())));
  }

  int fail(const Error& error, Phase phase) {
    console_.end_bar();
    if (error.code == ErrorCode::cancelled) {
      console_.line(fmt::format("interrupted: {} of {} pictures were saved", saved_.size(), options_.batch_count));
    } else {
      console_.error(error);
    }
    return exit_code(error, phase);
  }

  // The paths of the pictures, last, whatever else happened.
  int finish(int code) {
    for (const std::string& path : saved_) std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    return code;
  }

  const GenerateOptions& options_;
  const std::atomic<bool>& cancel_;
  Console console_;
  ProgressBar bar_;
  Profile profile_;
  std::vector<std::string> saved_;
  double save_seconds_ = 0;
};

}  // namespace

int run_generate(const GenerateOptions& options) {
  return GenerateCommand(options).run();
}

}  // namespace chiaro::cli
