// Plans of the shipped model's stages, kept as text: a change of a pass shows what it does to them.
// CHIARO_UPDATE_PLANS=1 writes tests/golden/plans/ anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "model_stages.h"
#include "random_case.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

struct Machine {
  std::string name;  // part of the file's
  std::vector<std::string> devices;
  Placement placement;
  bool fuse = true;
};

std::vector<Machine> machines() {
  std::vector<Machine> all;
  all.push_back({"cpu", {"cpu"}, {}});
  all.push_back(
      {"split", {"isolated:a", "cpu"}, {{{"te", {"cpu"}}, {"diffusion", {"isolated:a", "cpu"}}, {"vae", {"cpu"}}}}});
  // As the mission has it: no group norm on the GPU, and what follows it in place.
  all.push_back({"own", {"isolated:a,no=group_norm", "cpu"}, {{{"all", {"isolated:a"}}}}, false});
  return all;
}

// Scratch depends on the machine's caches, and with it the arena and the peak; the rest of a plan does not.
std::string without_scratch(const std::string& text) {
  static const std::regex kSizes(R"(peak [^:]*: arena [^(]*\(scratch [^;]*; )");
  return std::regex_replace(text, kSizes, "arena (");
}

std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  std::string l, r;
  for (int line = 1;; ++line) {
    const bool more_left = static_cast<bool>(std::getline(left, l)),
               more_right = static_cast<bool>(std::getline(right, r));
    if (!more_left && !more_right) return "nothing";
    if (more_left && more_right && l == r) continue;
    return "line " + std::to_string(line) + "\n- " + (more_left ? l : "(the end)") + "\n+ " +
           (more_right ? r : "(the end)");
  }
}

TEST(ModelPlans, AreAsTheyWere) {
  const fs::path folder = fs::path(CHIARO_SOURCE_DIR) / "tests/golden/plans";
  const bool update = std::getenv("CHIARO_UPDATE_PLANS") != nullptr;
  for (const Machine& machine : machines()) {
    EngineOptions engine_options;
    engine_options.threads = 1;
    engine_options.devices = machine.devices;
    const auto engine = Engine::create(engine_options).value();
    for (const Stage& stage : shipped_stages(32)) {
      PlanOptions options;
      options.placement = machine.placement;
      options.fuse = machine.fuse;
      const auto plan = make_plan(stage.graph, engine->devices(), options);
      ASSERT_TRUE(plan.ok()) << machine.name << ", " << stage.name << ": " << plan.error().format();
      const std::string text = without_scratch((*plan)->text());
      const fs::path path = folder / (stage.name + "-" + machine.name + ".txt");
      if (update) {
        fs::create_directories(folder);
        std::ofstream(path, std::ios::binary) << text;
        continue;
      }
      std::ifstream file(path, std::ios::binary);
      std::stringstream kept;
      kept << file.rdbuf();
      EXPECT_TRUE(kept.str() == text) << path << " differs in " << first_difference(kept.str(), text)
                                      << "\nIf that is meant: CHIARO_UPDATE_PLANS=1 test_plan_models writes it anew";
    }
  }
}

}  // namespace
}  // namespace chiaro::testing
