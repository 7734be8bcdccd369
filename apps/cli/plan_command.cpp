// `chiaro plan`: how a stage of a model, or a graph in a file, would run here: steps, memory, passes.
#include <cstdio>

#include "chiaro/chiaro.h"
#include "commands.h"
#include "console.h"
#include "core/atomic_file.h"
#include "core/utf8_path.h"
#include "exit_code.h"
#include "graph_run.h"
#include "model_path.h"
#include "models/clip/model.h"
#include "pipeline/flow_assembly.h"
#include "pipeline/request.h"
#include "pipeline/step_graph.h"
#include "plan/print.h"

namespace chiaro::cli {
namespace {

// The graph that `generate` would run for this stage and size.
Result<Graph> graph_of_model(const PlanCommandOptions& o, Log& log) {
  CHIARO_ASSIGN(const ModelPath model, find_model(o.model));
  CHIARO_ASSIGN(const auto assembly, assemble(model.path, log));
  GenerateRequest request;
  request.width = o.width;
  request.height = o.height;
  CHIARO_ASSIGN(const ResolvedRequest resolved, resolve_request(*assembly, request));
  if (o.stage == "encode" && assembly->flow) return build_prompt_states(*assembly, {.dtype = resolved.dtype});
  if (o.stage == "encode") {
    return models::build_clip_text(assembly->clip, *assembly->text_weights,
                                   {.batch = 2, .length = assembly->clip.positions});
  }
  if (o.stage == "decode") {
    return build_decode(*assembly, {1, resolved.latent_height, resolved.latent_width, resolved.dtype});
  }
  StepRequest step;
  step.height = resolved.latent_height;
  step.width = resolved.latent_width;
  if (!assembly->flow) step.context_length = assembly->clip.positions;
  return build_step(*assembly, step);
}

Status run(const PlanCommandOptions& o, Console& console) {
  const auto log =
      Log::to_sink(LogLevel::warning, [&](LogLevel, LogCategory, std::string_view line) { console.line(line); });
  CHIARO_ASSIGN(const Planner planner, make_planner(o.device, o.skip));
  auto graph = o.graph.empty() ? graph_of_model(o, *log) : read_graph(o.graph);
  if (!graph.ok()) return std::move(graph).error();
  CHIARO_ASSIGN(const auto plan, make_plan(*graph, planner.engine->devices(), planner.options));
  if (!o.svg.empty()) {
    CHIARO_TRY(write_file(path_from_utf8(o.svg), plan_svg(*plan)));
  }
  std::fputs((o.json ? plan_json(*plan) : plan->text()).c_str(), stdout);
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
