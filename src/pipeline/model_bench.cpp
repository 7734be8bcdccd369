#include "pipeline/model_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/thread_pool.h"
#include "ops/cpu_blocks/ceilings.h"

namespace chiaro {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Stage kStages[] = {Stage::encode, Stage::sample, Stage::decode};
constexpr const char* kPrompt = "a photograph of a lighthouse above a stormy sea";

// One launch of the profiled picture.
struct Launch {
  Stage stage = Stage::sample;
  std::string op;
  double seconds = 0, flops = 0, bytes = 0;
};

Stage stage_of(std::string_view name) {
  for (const Stage stage : kStages) {
    if (stage_name(stage) == name) return stage;
  }
  return Stage::load;
}

double of_stage(const GenerateResult& result, Stage stage) {
  double seconds = 0;
  for (const StageTime& t : result.times) seconds += t.stage == stage ? t.seconds : 0;
  return seconds;
}

class Runner {
 public:
  explicit Runner(const ModelBenchOptions& options)
      : options_(options), pool_(options.models.front().threads), pictures_(options.profile ? 2 : 1) {
    report_.threads = pool_.threads();
    all_ = static_cast<int>(options.models.size()) * (options.rounds + pictures_);
  }

  Result<ModelBench> run() {
    for (const LoadOptions& load : options_.models) CHIARO_TRY(open(load));
    for (int round = 0; round < options_.rounds; ++round) {
      measure_ceilings();
      for (size_t i = 0; i < sessions_.size(); ++i) {
        // Who is first in one round is last in the next.
        const size_t at = round % 2 == 0 ? i : sessions_.size() - 1 - i;
        CHIARO_TRY(time(at));
      }
    }
    measure_ceilings();
    for (size_t i = 0; options_.profile && i < sessions_.size(); ++i) CHIARO_TRY(profile(i));
    return std::move(report_);
  }

 private:
  GenerateRequest request() const {
    GenerateRequest r;
    r.prompt = kPrompt;
    r.width = options_.width;
    r.height = options_.height;
    r.steps = options_.steps;
    r.cfg_scale = 1;
    return r;
  }

  Result<GenerateResult> generate(size_t model, const std::function<void(const OpTime&)>& on_op = {}) {
    Callbacks callbacks;
    callbacks.cancel = options_.cancel;
    callbacks.on_op = on_op;
    auto result = sessions_[model]->generate(request(), callbacks);
    if (result.ok() && options_.on_progress) options_.on_progress(++done_, all_);
    return result;
  }

  // The first picture packs weights, and is not among those that are timed.
  Status open(const LoadOptions& load) {
    BenchedModel model;
    auto start = Clock::now();
    CHIARO_ASSIGN(auto session, Session::load(load));
    model.model = session->info().path;
    model.load_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    sessions_.push_back(std::move(session));
    start = Clock::now();
    CHIARO_ASSIGN(const GenerateResult result, generate(sessions_.size() - 1));
    model.first_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    model.weight_bytes = result.weight_bytes;
    report_.width = result.used.width;
    report_.height = result.used.height;
    for (const Stage stage : kStages) {
      model.stages.emplace_back();
      model.stages.back().stage = stage;
    }
    report_.models.push_back(std::move(model));
    return {};
  }

  Status time(size_t at) {
    CHIARO_ASSIGN(const GenerateResult result, generate(at));
    BenchedModel& model = report_.models[at];
    model.peak_bytes = std::max(model.peak_bytes, result.peak_bytes);
    for (BenchedStage& stage : model.stages) {
      stage.seconds.push_back(of_stage(result, stage.stage) / times_of(stage.stage));
    }
    return {};
  }

  Status profile(size_t at) {
    std::vector<Launch> launches;
    CHIARO_ASSIGN(
        const GenerateResult result, generate(at, [&](const OpTime& t) {
          launches.push_back({stage_of(t.stage), std::string(t.op), t.seconds, t.flops, static_cast<double>(t.bytes)});
        }));
    BenchedModel& model = report_.models[at];
    for (const Launch& launch : launches) add(model, launch);
    std::sort(model.ops.begin(), model.ops.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    return {};
  }

  void add(BenchedModel& model, const Launch& launch) {
    const double times = times_of(launch.stage);
    const double memory = report_.copy_gbs > 0 ? launch.bytes / (report_.copy_gbs * 1e9) : 0;
    const double arithmetic = report_.peak_gflops > 0 ? launch.flops / (report_.peak_gflops * 1e9) : 0;
    const double roof = std::max(memory, arithmetic) / times;
    for (BenchedStage& stage : model.stages) {
      if (stage.stage != launch.stage) continue;
      stage.flops += launch.flops / times;
      stage.bytes += launch.bytes / times;
      stage.roof_seconds += roof;
    }
    auto op = std::find_if(model.ops.begin(), model.ops.end(),
                           [&](const BenchedOp& o) { return o.stage == launch.stage && o.op == launch.op; });
    if (op == model.ops.end()) {
      op = model.ops.insert(model.ops.end(), BenchedOp{});
      op->stage = launch.stage;
      op->op = launch.op;
    }
    ++op->launches;
    op->seconds += launch.seconds / times;
    op->flops += launch.flops / times;
    op->bytes += launch.bytes / times;
    op->roof_seconds += roof;
  }

  // How often a stage runs for one picture.
  double times_of(Stage stage) const { return stage == Stage::sample ? options_.steps : 1; }

  // Whatever else the machine does can only make a measurement smaller.
  void measure_ceilings() {
    report_.copy_gbs = std::max(report_.copy_gbs, measure_copy_bandwidth_gbs(pool_));
    report_.peak_gflops = std::max(report_.peak_gflops, measure_fma_peak_gflops(pool_));
  }

  const ModelBenchOptions& options_;
  ThreadPool pool_;
  int pictures_ = 0, done_ = 0, all_ = 0;
  std::vector<std::shared_ptr<Session>> sessions_;
  ModelBench report_;
};

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

std::string short_name(const std::string& path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

std::string stage_line(const ModelBench& bench, const BenchedModel& model, size_t at) {
  const BenchedStage& stage = model.stages[at];
  const double median = stage.median(), first = bench.models.front().stages[at].median();
  const auto [least, most] = std::minmax_element(stage.seconds.begin(), stage.seconds.end());
  return fmt::format("{:<32} {:<7} {:9.3f} s {:9.3f} {:9.3f} {:9.1f} {:8.1f} {:6.0f} {:6.0f} {:8.3f}\n",
                     short_name(model.model), stage_name(stage.stage), median, *least, *most, stage.flops / 1e9,
                     median > 0 ? stage.flops / median / 1e9 : 0,
                     percent(stage.flops / 1e9 / bench.peak_gflops, median), percent(stage.roof_seconds, median),
                     first > 0 ? median / first : 0);
}

std::string op_line(const BenchedModel& model, const BenchedOp& op, double all) {
  return fmt::format("{:<32} {:<7} {:<20} {:8} {:10.1f} ms {:5.1f} {:9.1f} {:7.1f} {:7.0f}\n", short_name(model.model),
                     stage_name(op.stage), op.op, op.launches, op.seconds * 1e3, percent(op.seconds, all),
                     op.seconds > 0 ? op.flops / op.seconds / 1e9 : 0, op.seconds > 0 ? op.bytes / op.seconds / 1e9 : 0,
                     percent(op.roof_seconds, op.seconds));
}

}  // namespace

double BenchedStage::median() const {
  if (seconds.empty()) return 0;
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

std::string ModelBench::text(int top) const {
  std::string s = fmt::format("{} threads: copy {:.1f} GB/s, multiply-add peak {:.0f} GFLOP/s; {}x{}\n\n", threads,
                              copy_gbs, peak_gflops, width, height);
  s += fmt::format("{:<32} {:<7} {:>11} {:>9} {:>9} {:>9} {:>8} {:>6} {:>6} {:>8}\n", "model", "stage", "median",
                   "least", "most", "GFLOP", "GFLOP/s", "% peak", "% roof", "/ first");
  for (const BenchedModel& model : models) {
    for (size_t i = 0; i < model.stages.size(); ++i) s += stage_line(*this, model, i);
  }
  s += fmt::format("\n{:<32} {:>9} {:>9} {:>14} {:>14}\n", "model", "load", "first", "weights", "peak memory");
  for (const BenchedModel& model : models) {
    s += fmt::format("{:<32} {:7.2f} s {:7.2f} s {:10.1f} MiB {:10.1f} MiB\n", short_name(model.model),
                     model.load_seconds, model.first_seconds, static_cast<double>(model.weight_bytes) / 0x1p20,
                     static_cast<double>(model.peak_bytes) / 0x1p20);
  }
  for (const BenchedModel& model : models) {
    if (model.ops.empty() || top <= 0) continue;
    double all = 0;
    for (const BenchedOp& op : model.ops) all += op.seconds;
    s += fmt::format("\n{:<32} {:<7} {:<20} {:>8} {:>13} {:>5} {:>9} {:>7} {:>7}\n", "model", "stage", "op", "launches",
                     "time", "%", "GFLOP/s", "GB/s", "% roof");
    const size_t count = std::min(model.ops.size(), static_cast<size_t>(top));
    for (size_t i = 0; i < count; ++i) s += op_line(model, model.ops[i], all);
  }
  return s;
}

std::string ModelBench::json() const {
  nlohmann::ordered_json out = {{"threads", threads},         {"width", width},
                                {"height", height},           {"copy_gbs", copy_gbs},
                                {"peak_gflops", peak_gflops}, {"models", nlohmann::ordered_json::array()}};
  for (const BenchedModel& model : models) {
    nlohmann::ordered_json m = {{"model", model.model},
                                {"load_seconds", model.load_seconds},
                                {"first_seconds", model.first_seconds},
                                {"weight_bytes", model.weight_bytes},
                                {"peak_bytes", model.peak_bytes}};
    for (const BenchedStage& stage : model.stages) {
      m["stages"].push_back({{"stage", stage_name(stage.stage)},
                             {"median_seconds", stage.median()},
                             {"seconds", stage.seconds},
                             {"flops", stage.flops},
                             {"bytes", stage.bytes},
                             {"roof_seconds", stage.roof_seconds}});
    }
    for (const BenchedOp& op : model.ops) {
      m["ops"].push_back({{"stage", stage_name(op.stage)},
                          {"op", op.op},
                          {"launches", op.launches},
                          {"seconds", op.seconds},
                          {"flops", op.flops},
                          {"bytes", op.bytes},
                          {"roof_seconds", op.roof_seconds}});
    }
    out["models"].push_back(std::move(m));
  }
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<ModelBench> bench_models(const ModelBenchOptions& options) {
  if (options.models.empty()) return Error{ErrorCode::usage, "there is no model to time", "", "name one", ""};
  return Runner(options).run();
}

}  // namespace chiaro
