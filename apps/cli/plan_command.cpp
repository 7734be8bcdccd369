// `chiaro plan`: how a stage of a model, or a graph in a file, would run here: steps, memory, passes.
#include <cstdio>

#include "chiaro/chiaro.h"
#include "commands.h"
#include "console.h"
#include "core/atomic_file.h"
#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "graph/text.h"
#include "model_path.h"
#include "models/clip/model.h"
#include "ops/catalogue.h"
#include "pipeline/request.h"
#include "pipeline/step_graph.h"
#include "plan/print.h"
#include "runtime/engine.h"

namespace chiaro::cli {
namespace {

Result<Graph> graph_of_file(const std::string& path) {
  CHIARO_ASSIGN(const auto file, MappedFile::open(path_from_utf8(path)));
  const auto bytes = file->bytes();
  auto graph = parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, find_op);
  if (!graph.ok()) return std::move(graph).error().at(path);
  return graph;
}

// The graph that `generate` would run for this stage and size.
Result<Graph> graph_of_model(const PlanCommandOptions& o, Log& log) {
  CHIARO_ASSIGN(const ModelPath model, find_model(o.model));
  CHIARO_ASSIGN(const auto assembly, assemble(model.path, log));
  GenerateRequest request;
  request.width = o.width;
  request.height = o.height;
  CHIARO_ASSIGN(const ResolvedRequest resolved, resolve_request(*assembly, request));
  if (o.stage == "encode") {
    return models::build_clip_text(assembly->clip, *assembly->clip_weights,
                                   {.batch = 2, .length = assembly->clip.positions});
  }
  if (o.stage == "decode") {
    return build_decode(*assembly, {1, resolved.latent_height, resolved.latent_width, resolved.dtype});
  }
  StepRequest step;
  step.height = resolved.latent_height;
  step.width = resolved.latent_width;
  step.context_length = assembly->clip.positions;
  return build_step(*assembly, step);
}

Status write_text(const std::string& path, const std::string& text) {
  CHIARO_ASSIGN(AtomicFile file, AtomicFile::create(path_from_utf8(path)));
  CHIARO_TRY(file.write(text));
  return file.commit();
}

Status run(const PlanCommandOptions& o, Console& console) {
  const auto log =
      Log::to_sink(LogLevel::warning, [&](LogLevel, LogCategory, std::string_view line) { console.line(line); });
  EngineOptions engine_options;
  engine_options.threads = o.threads;
  engine_options.disabled_ops = o.disabled_ops;
  CHIARO_ASSIGN(const auto engine, Engine::create(std::move(engine_options)));
  auto graph = o.graph.empty() ? graph_of_model(o, *log) : graph_of_file(o.graph);
  if (!graph.ok()) return std::move(graph).error();
  PlanOptions options;
  options.fuse = !o.no_fuse;
  CHIARO_ASSIGN(const auto plan, make_plan(*graph, engine->devices(), options));
  if (!o.svg.empty()) {
    CHIARO_TRY(write_text(o.svg, plan_svg(*plan)));
  }
  std::fputs((o.json ? plan_json(*plan) + "\n" : plan->text()).c_str(), stdout);
  return {};
}

}  // namespace

int run_plan(const PlanCommandOptions& options) {
  Console console;
  const Status status = run(options, console);
  if (status.ok()) return kOk;
  console.error(status.error());
  return exit_code(status.error(), Phase::reading);
}

}  // namespace chiaro::cli
