// The graph passes, one by one: every file of tests/passes/<pass>/ holds a graph, a line `---`, and the graph that the
// pass makes of it on the CPU. Its first line says what it shows. A line `# without OP...` takes ops from the device, a
// line `# dense OP...` makes their kernels refuse strided operands (the CPU's own take any strides).
// CHIARO_UPDATE_PASSES=1 writes the expectations anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "graph/text.h"
#include "ops/catalogue.h"
#include "plan/passes/passes.h"
#include "plan/verify.h"
#include "runtime/engine.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;
using Pass = Result<Graph> (*)(const Graph&, PassContext&);

const std::map<std::string, Pass> kPasses = {
    {"canonicalise", pass_canonicalise}, {"fuse", pass_fuse}, {"legalise", pass_legalise}, {"versions", pass_versions}};

struct Example {
  std::string input, expected;
  std::vector<std::string> without, dense;
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
    if (const auto words = words_behind(line, "# without "); !words.empty()) example.without = words;
    if (const auto words = words_behind(line, "# dense "); !words.empty()) example.dense = words;
  }
  return example;
}

// A kernel of the CPU's table, for dense operands only.
Result<KernelPlan> plan_dense(const Call& call, const DeviceTraits& traits) {
  const auto strided = [](const Operand& o) { return o.present && !o.desc.contiguous(); };
  if (!strided(call.output) && std::none_of(call.inputs.begin(), call.inputs.end(), strided)) {
    for (const Kernels& kernels : cpu_kernel_table()) {
      if (!kernels.empty() && kernels[0].op == call.op->name) return kernels[0].plan(call, traits);
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

// What the pass makes of the example; errors as text, so that refusals can be expected, too.
std::string result_of(Pass pass, const Example& example) {
  const auto graph = parse_graph(example.input, find_op);
  if (!graph.ok()) return "the input does not parse: " + graph.error().format();
  EngineOptions options;
  options.threads = 1;
  options.disabled_ops = example.without;
  options.cpu_kernels = kernels_of(example);
  const auto engine = Engine::create(std::move(options)).value();
  PassContext context{engine->devices(), {}};
  const auto made = pass(*graph, context);
  if (!made.ok()) return "error " + std::string(error_code_name(made.error().code)) + ": " + made.error().what + "\n";
  const Status formed = verify_graph(*made);
  return formed.ok() ? print_graph(*made) : formed.error().format();
}

class PassFiles : public ::testing::TestWithParam<std::string> {};

TEST_P(PassFiles, MakeWhatTheyExpect) {
  const Pass pass = kPasses.at(GetParam());
  const bool update = std::getenv("CHIARO_UPDATE_PASSES") != nullptr;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(CHIARO_SOURCE_DIR) / "tests" / "passes" / GetParam())) {
    if (entry.path().extension() != ".graph") continue;
    const Example example = read_example(entry.path());
    EXPECT_TRUE(example.input.starts_with("# ")) << entry.path() << " does not say what it shows";
    const std::string made = result_of(pass, example);
    if (update) std::ofstream(entry.path()) << example.input << "---\n" << made;
    EXPECT_EQ(made, update ? made : example.expected) << entry.path() << "\n" << example.input;
    ++count;
  }
  EXPECT_GE(count, 5);
}

std::string own_name(const ::testing::TestParamInfo<std::string>& pass) {
  return pass.param;
}

INSTANTIATE_TEST_SUITE_P(, PassFiles, ::testing::Values("canonicalise", "fuse", "legalise", "versions"), own_name);

}  // namespace
}  // namespace chiaro
