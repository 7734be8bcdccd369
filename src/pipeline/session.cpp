// Session: the public API over the pipeline's parts.
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <optional>

#include "chiaro/chiaro.h"
#include "core/utf8_path.h"
#include "pipeline/assembly.h"
#include "pipeline/conditioning.h"
#include "pipeline/decode.h"
#include "pipeline/placement.h"
#include "pipeline/preview.h"
#include "pipeline/request.h"
#include "pipeline/sampling.h"
#include "pipeline/stage_runner.h"

namespace chiaro {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

LogLevel to_level(Severity severity) {
  return static_cast<LogLevel>(severity);
}

std::shared_ptr<Log> make_log(const LoadOptions& options) {
  if (!options.log) return Log::silent();
  return Log::to_sink(to_level(options.log_level), [sink = options.log](LogLevel level, LogCategory c, auto line) {
    sink(static_cast<Severity>(level), log_category_name(c), line);
  });
}

Error out_of_memory() noexcept {
  try {
    return {ErrorCode::out_of_memory, "no memory left", "an allocation was refused",
            "make the picture or the batch smaller, or close other programs", ""};
  } catch (...) {
    Error error;
    error.code = ErrorCode::out_of_memory;
    error.what = "no memory left";
    return error;
  }
}

Error thrown(std::string_view what) {
  return {ErrorCode::internal, "an exception ended the run", std::string(what),
          "if no callback of the calling program threw it, this is a mistake in Chiaro: please report it", ""};
}

// Nothing is thrown to the caller: refused allocations, and what callbacks throw, end here as values.
template <class T, class F>
Result<T> without_exceptions(F&& work) noexcept {
  try {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    } catch (const std::exception& e) {
      return thrown(e.what());
    } catch (...) {
      return thrown("of a type that is not known");
    }
  } catch (...) {
    return out_of_memory();
  }
}

// One generate() call: what it has to say while it runs, and its times.
class Run {
 public:
  Run(const Callbacks& callbacks, int pictures) : callbacks_(callbacks) { progress_.pictures = pictures; }

  RunOptions options() {
    RunOptions o;
    o.cancel = callbacks_.cancel;
    o.on_cache_write = [this](int64_t done, int64_t all) {
      progress_.cache_written = done;
      progress_.cache_bytes = all;
      progress_.seconds = seconds_since(started_);
      if (callbacks_.on_progress) callbacks_.on_progress(progress_);
    };
    if (callbacks_.on_op) {
      o.on_step = [this](const StepTime& t) {
        callbacks_.on_op(
            {stage_name(progress_.stage), t.op, t.label, t.kernel, t.seconds, t.device, t.start, t.bytes, t.flops});
      };
    }
    return o;
  }
  void begin(Stage stage, int picture, int steps) {
    progress_.stage = stage;
    progress_.picture = picture;
    started_ = Clock::now();
    report(0, steps);
  }
  void report(int step, int steps) {
    progress_.step = step;
    progress_.steps = steps;
    progress_.cache_written = progress_.cache_bytes = 0;
    progress_.seconds = seconds_since(started_);
    if (callbacks_.on_progress) callbacks_.on_progress(progress_);
  }
  void end(GenerateResult& result) {
    const double seconds = seconds_since(started_);
    for (StageTime& t : result.times) {
      if (t.stage != progress_.stage) continue;
      t.seconds += seconds;
      return;
    }
    result.times.push_back({progress_.stage, seconds});
  }
  const Callbacks& callbacks() const { return callbacks_; }

 private:
  const Callbacks& callbacks_;
  Progress progress_;
  Clock::time_point started_;
};

class SessionImpl final : public Session {
 public:
  static Result<std::shared_ptr<Session>> load(const LoadOptions& options) {
    auto session = std::make_shared<SessionImpl>();
    CHIARO_ASSIGN(session->dtype_, activation_dtype(options.precision));
    EngineOptions engine;
    engine.threads = options.threads;
    engine.log = make_log(options);
    engine.disabled_ops = options.disabled_ops;
    engine.weight_cache = path_from_utf8(options.weight_cache);
    CHIARO_ASSIGN(DeviceChoice choice, choose_devices(options.devices, options.backend));
    engine.devices = std::move(choice.specs);
    session->memory_ = std::make_shared<CountingAllocator>(options.allocator ? options.allocator
                                                                             : std::make_shared<SystemAllocator>());
    engine.allocator = session->memory_;
    CHIARO_ASSIGN(session->engine_, Engine::create(std::move(engine)));
    const auto start = Clock::now();
    CHIARO_ASSIGN(const AssembleRequest request, assemble_request(options));
    CHIARO_ASSIGN(session->assembly_, assemble(request, session->engine_->log()));
    session->load_seconds_ = seconds_since(start);
    PlanOptions plan;
    plan.fuse = options.fuse;
    plan.placement = std::move(choice.placement);
    session->settings_ = {options.fuse,    options.disabled_ops, options.devices,
                          options.backend, options.parts,        options.prediction};
    if (options.taesd_preview_only) session->settings_.parts.taesd.clear();
    session->one_request_ = options.one_request;
    session->runner_ = std::make_unique<StageRunner>(*session->engine_, plan);
    return std::shared_ptr<Session>(std::move(session));
  }

  const ModelInfo& info() const override { return assembly_->info; }
  int64_t held_bytes() const override { return memory_->live_bytes(); }
  void trim() override {
    const std::lock_guard lock(mutex_);
    runner_->clear();
  }

  Result<GenerateResult> generate(const GenerateRequest& request, const Callbacks& callbacks) override {
    const std::lock_guard lock(mutex_);
    return without_exceptions<GenerateResult>([&] { return run(request, callbacks); });
  }

 private:
  Result<GenerateResult> run(const GenerateRequest& request, const Callbacks& callbacks) {
    CHIARO_ASSIGN(ResolvedRequest resolved, resolve_request(*assembly_, request, dtype_));
    CHIARO_TRY(check_preview(callbacks.preview, *assembly_));
    resolved.request.engine = settings_;
    const GenerateRequest& used = resolved.request;
    memory_->reset_peak();
    GenerateResult result;
    result.used = used;
    runner_->begin_run();
    result.model_name = assembly_->info.path;
    result.notices = resolved.notices;
    for (const ComponentInfo& part : assembly_->info.components) result.weight_bytes += part.bytes;
    result.times.push_back({Stage::load, load_seconds_});
    Run run(callbacks, used.batch_count);

    run.begin(Stage::encode, 0, 1);
    CHIARO_ASSIGN(const Conditioning conditioning, encode(resolved, run, result));
    if (one_request_) runner_->release("text encoder");
    run.report(1, 1);
    run.end(result);
    PictureDecoder decoder(*assembly_, *runner_, resolved, result.notices);
    for (int first = 0; first < used.batch_count; first += used.batch_size) {
      const int pictures = std::min(used.batch_size, used.batch_count - first);
      CHIARO_TRY(make_group(resolved, conditioning, decoder, first, pictures, run, result));
    }
    result.peak_bytes = memory_->peak_bytes();
    for (const std::string& moved : runner_->moved()) result.notices.push_back(moved);
    for (const std::string& notice : result.notices) {
      engine_->log()(LogLevel::notice, LogCategory::pipeline, "{}", notice);
    }
    return result;
  }

  // Runs one stage; a result that is not finite is computed once more in f32, unless it was f32 or the request forbids
  // it.
  template <class F>
  auto stage_in(std::string_view stage, const ResolvedRequest& resolved, GenerateResult& result, F&& work)
      -> decltype(work(DType::f32)) {
    const DType dtype = resolved.dtype;
    auto out = work(dtype);
    const bool final = dtype == DType::f32 || resolved.request.strict;
    if (out.ok() || out.error().code != ErrorCode::non_finite || final) return out;
    result.notices.push_back(
        fmt::format("{} was computed again in f32: in {} {}", stage, dtype_name(dtype), out.error().what));
    return work(DType::f32);
  }

  Result<Conditioning> encode(const ResolvedRequest& resolved, Run& run, GenerateResult& result) {
    const GenerateRequest& used = resolved.request;
    auto out = stage_in("the text encoder", resolved, result, [&](DType dtype) {
      return encode_prompts(*assembly_, *runner_,
                            {used.prompt, used.negative_prompt, resolved.guided, used.clip_skip, dtype}, run.options());
    });
    if (out.ok()) result.notices.insert(result.notices.end(), out->notices.begin(), out->notices.end());
    return out;
  }

  Status make_group(const ResolvedRequest& resolved, const Conditioning& conditioning, PictureDecoder& decoder,
                    int first, int pictures, Run& run, GenerateResult& result) {
    SamplingHooks hooks;
    hooks.on_step = [&](int step, int steps) { run.report(step, steps); };
    hooks.on_latent = run.callbacks().on_latent;
    Previews previews(*assembly_, *runner_, resolved, run.callbacks(), colours_, result.notices);
    run.begin(Stage::sample, first, resolved.request.steps);
    CHIARO_ASSIGN(const std::vector<float> latents, stage_in("sampling", resolved, result, [&](DType dtype) {
                    if (previews.wanted()) {
                      hooks.on_preview = [&, dtype](auto x, auto denoised, int step) {
                        return previews.show(x, denoised, first, step, dtype, run.options());
                      };
                    }
                    return sample_latents(*assembly_, *runner_, resolved, conditioning, first, pictures, dtype, hooks,
                                          run.options());
                  }));
    if (one_request_ && first + pictures == resolved.request.batch_count) runner_->release("sampling step");
    run.end(result);
    run.begin(Stage::decode, first, pictures);
    const size_t one = latents.size() / static_cast<size_t>(pictures);
    int tiles = 1;  // of a picture
    for (int i = 0; i < pictures; ++i) {
      const std::span<const float> own = std::span(latents).subspan(static_cast<size_t>(i) * one, one);
      CHIARO_ASSIGN(Picture picture, stage_in("the decoder", resolved, result, [&](DType dtype) {
                      return decoder.decode(own, dtype, run.options(), [&](int64_t done, int64_t all) {
                        tiles = static_cast<int>(all);  // the last is reported below, once the picture is handed out
                        if (done < all) run.report(i * tiles + static_cast<int>(done), pictures * tiles);
                      });
                    }));
      picture.seed = resolved.request.seed + static_cast<uint64_t>(first + i);
      if (run.callbacks().on_picture) CHIARO_TRY(run.callbacks().on_picture(picture, first + i, resolved.request));
      result.pictures.push_back(std::move(picture));
      run.report((i + 1) * tiles, pictures * tiles);
    }
    run.end(result);
    return {};
  }

  std::mutex mutex_;  // one generate at a time
  DType dtype_ = DType::f32;
  EngineSettings settings_;
  double load_seconds_ = 0;
  bool one_request_ = false;
  std::shared_ptr<CountingAllocator> memory_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Assembly> assembly_;
  std::unique_ptr<StageRunner> runner_;
  std::optional<LatentColours> colours_;  // of previews, once one was asked for
};

}  // namespace

std::string_view version() {
  return CHIARO_VERSION;
}

std::string_view stage_name(Stage stage) {
  switch (stage) {
    case Stage::load: return "load";
    case Stage::encode: return "encode";
    case Stage::sample: return "sample";
    case Stage::decode: return "decode";
    case Stage::save: return "save";
  }
  return "?";
}

Result<std::shared_ptr<Session>> Session::load(const LoadOptions& options) {
  return without_exceptions<std::shared_ptr<Session>>([&] { return SessionImpl::load(options); });
}

}  // namespace chiaro
