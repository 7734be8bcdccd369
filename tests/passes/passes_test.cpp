// The passes, one by one: every file of tests/passes/<pass>/ holds a graph, a line `---`, and the graph (or, for the
// passes behind it, the schedule) that the pass makes of it. Its first line says what it shows. Further lines set the
// stage: `# devices SPEC...` (else the CPU alone), `# without OP[@DEVICE]...` takes ops away, `# dense OP...` makes the
// CPU's kernels refuse strided operands (they take any), `# place MODULE=DEVICE[&DEVICE]...`, `# weights
// NAME=DEVICE...` and `# skip NAME...`. CHIARO_UPDATE_PASSES=1 writes the expectations anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "core/tensor.h"
#include "graph/host_functions.h"
#include "graph/text.h"
#include "ops/catalogue.h"
#include "plan/passes/passes.h"
#include "plan/verify.h"
#include "runtime/engine.h"
#include "schedule_text.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;
using Pass = Result<Graph> (*)(const Graph&, PassContext&);

// Nodes of an example without `on` are placed first.
Result<Graph> place_then_legalise(const Graph& graph, PassContext& context) {
  for (const Node& node : graph.nodes()) {
    if (!node.device.empty()) return pass_legalise(graph, context);
  }
  CHIARO_ASSIGN(const Graph placed, pass_place(graph, context));
  return pass_legalise(placed, context);
}

const std::map<std::string, Pass> kPasses = {{"canonicalise", pass_canonicalise},
                                             {"fold_constants", pass_fold_constants},
                                             {"fuse", pass_fuse},
                                             {"legalise", place_then_legalise},
                                             {"own", pass_own},
                                             {"pack", pass_pack},
                                             {"place", pass_place},
                                             {"versions", pass_versions}};
// Passes over the schedule: how far it is taken before it is printed.
const std::map<std::string, ScheduleStage> kSchedules = {
    {"transfers", ScheduleStage::transfers}, {"memory", ScheduleStage::memory}, {"segments", ScheduleStage::segments}};

struct Example {
  std::string input, expected;
  std::vector<std::string> without, dense, devices, skip, modules, weights;
};

std::vector<std::string> words_behind(const std::string& line, const std::string& start) {
  std::vector<std::string> all;
  if (!line.starts_with(start)) return all;
  std::istringstream words(line.substr(start.size()));
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

Example read_example(const fs::path& path) {
  std::ifstream file(path);
  Example example;
  std::string line;
  bool behind = false;
  while (std::getline(file, line)) {
    if (line == "---") {
      behind = true;
      continue;
    }
    (behind ? example.expected : example.input) += line + "\n";
    const std::pair<const char*, std::vector<std::string>*> kSettings[] = {
        {"# without ", &example.without}, {"# dense ", &example.dense},   {"# devices ", &example.devices},
        {"# skip ", &example.skip},       {"# place ", &example.modules}, {"# weights ", &example.weights}};
    for (const auto& [start, words] : kSettings) {
      if (auto found = words_behind(line, start); !found.empty()) *words = std::move(found);
    }
  }
  return example;
}

// The kernels of an op in the CPU's table, for dense operands only.
Result<KernelPlan> plan_dense(const Call& call, const DeviceTraits& traits) {
  const auto strided = [](const Operand& o) { return o.present && !o.desc.contiguous(); };
  if (!strided(call.output) && std::none_of(call.inputs.begin(), call.inputs.end(), strided)) {
    for (const Kernels& kernels : cpu_kernel_table()) {
      for (const Kernel& kernel : kernels) {
        if (kernel.op != call.op->name) break;
        if (auto plan = kernel.plan(call, traits); plan.ok()) return plan;
      }
    }
  }
  return kernel_refusal(call.op->name, "strides", "dense operands");
}

std::shared_ptr<const KernelTable> kernels_of(const Example& example) {
  KernelTable table = cpu_kernel_table();
  for (Kernels& kernels : table) {
    for (Kernel& kernel : kernels) {
      const bool named = std::find(example.dense.begin(), example.dense.end(), kernel.op) != example.dense.end();
      if (named) kernel.plan = &plan_dense;
    }
  }
  return std::make_shared<const KernelTable>(std::move(table));
}

std::vector<std::string> split_at(const std::string& text, char mark) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, mark);) parts.push_back(part);
  return parts;
}

PlanOptions plan_options(const Example& example) {
  PlanOptions options;
  options.skip = example.skip;
  for (const std::string& word : example.modules) {
    const auto parts = split_at(word, '=');
    options.placement.modules[parts.at(0)] = split_at(parts.at(1), '&');
  }
  for (const std::string& word : example.weights) {
    const auto parts = split_at(word, '=');
    options.placement.weights.emplace_back(parts.at(0), parts.at(1));
  }
  return options;
}

std::string error_text(const Error& error) {
  return "error " + std::string(error_code_name(error.code)) + ": " + error.what + "\n";
}

// Constants hold 0, 1, 2, 3, 4, 0, ...; weights, and constants called "unbound", are known by shape only.
Result<TensorDataPtr> counted(StorageKind kind, const std::string& name, const TensorDesc& desc) {
  if (kind != StorageKind::constant || name == "unbound") return TensorDataPtr{};
  std::vector<float> values(static_cast<size_t>(desc.count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 5);
  return make_tensor(name, desc.dtype, desc.shape, values);
}

// What the pass makes of the example; errors as text, so that refusals can be expected, too.
std::string result_of(const std::string& name, const Example& example) {
  const auto graph = parse_graph(example.input, GraphNames{find_op, find_host_function, counted});
  if (!graph.ok()) return "the input does not parse: " + graph.error().format();
  EngineOptions options;
  options.threads = 1;
  options.disabled_ops = example.without;
  options.cpu_kernels = kernels_of(example);
  options.devices = example.devices;
  const auto engine = Engine::create(std::move(options)).value();
  const PlanOptions planning = plan_options(example);
  PassContext context{engine->devices(), planning};
  if (const auto schedule = kSchedules.find(name); schedule != kSchedules.end()) {
    const auto text = schedule_text(*graph, context, schedule->second);
    return text.ok() ? *text : error_text(text.error());
  }
  const auto made = kPasses.at(name)(*graph, context);
  if (!made.ok()) return error_text(made.error());
  const Status formed = verify_graph(*made);
  return formed.ok() ? print_graph(*made) : formed.error().format();
}

class PassFiles : public ::testing::TestWithParam<std::string> {};

TEST_P(PassFiles, MakeWhatTheyExpect) {
  const bool update = std::getenv("CHIARO_UPDATE_PASSES") != nullptr;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(CHIARO_SOURCE_DIR) / "tests" / "passes" / GetParam())) {
    if (entry.path().extension() != ".graph") continue;
    const Example example = read_example(entry.path());
    EXPECT_TRUE(example.input.starts_with("# ")) << entry.path() << " does not say what it shows";
    const std::string made = result_of(GetParam(), example);
    if (update) std::ofstream(entry.path()) << example.input << "---\n" << made;
    EXPECT_EQ(made, update ? made : example.expected) << entry.path() << "\n" << example.input;
    ++count;
  }
  EXPECT_GE(count, 5);
}

std::string own_name(const ::testing::TestParamInfo<std::string>& pass) {
  return pass.param;
}

INSTANTIATE_TEST_SUITE_P(, PassFiles,
                         ::testing::Values("canonicalise", "fold_constants", "fuse", "legalise", "memory", "own",
                                           "pack", "place", "segments", "transfers", "versions"),
                         own_name);

}  // namespace
}  // namespace chiaro
