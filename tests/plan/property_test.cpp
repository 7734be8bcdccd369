// Random graphs on random devices: verified plans that give, bit by bit, what one device gives, and what the oracle
// says.
//
// CHIARO_RANDOM_CASES=20000 sets how many, CHIARO_RANDOM_SEED the first one. A failing case is made small and written
// to the folder for temporary files; a copy in tests/plan/kept/ is run again by every later run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "../sanitized.h"
#include "random_case_run.h"
#include "random_case_shrink.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string temporary(const std::string& name) {
  return (fs::path(CHIARO_TMP_DIR) / name).string();
}

// The letters that a failure begins with: a smaller case must fail for the same reason, not by having no device left.
std::string kind_of(const std::string& failure) {
  std::string letters;
  for (const char c : failure.substr(0, failure.find('\n'))) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 && letters.size() < 30) letters += c;
  }
  return letters;
}

// Makes a failing case small; says what is wrong with it and where it lies.
std::string explain(uint64_t seed, const RandomCase& c, const std::string& failure) {
  const std::string kind = kind_of(failure);
  const RandomCase small = shrink(c, [&](const RandomCase& s) {
    const auto again = check_case(s).failure;
    return again && kind_of(*again) == kind;
  });
  const std::string path = temporary("case_" + std::to_string(seed) + ".graph");
  const Status written = write_case(path, small);
  return "seed " + std::to_string(seed) + ": " + failure +
         "\nmade small: " + check_case(small).failure.value_or("it does not fail any more") + "\n" + case_text(small) +
         (written.ok() ? "written to " + path + "; keep it in tests/plan/kept/" : written.error().format());
}

struct Totals {
  int cases = 0, several = 0, copies = 0, moved = 0, on_copy = 0, out_of_memory = 0, refused = 0, compared = 0;
  void add(const CaseReport& r) {
    ++cases;
    several += r.devices > 1 ? 1 : 0;
    copies += r.copies;
    moved += r.moved;
    on_copy += r.on_copy;
    out_of_memory += r.out_of_memory ? 1 : 0;
    refused += r.refused ? 1 : 0;
    compared += r.compared ? 1 : 0;
  }
};

TEST(PlanProperties, RandomGraphsOnRandomDevicesGiveTheBytesOfOne) {
  const uint64_t first = from_environment("CHIARO_RANDOM_SEED", 0);
  const uint64_t count = from_environment("CHIARO_RANDOM_CASES", CHIARO_SANITIZED ? 150 : 1500);
  const std::string current = temporary("case_current_" + std::to_string(first) + ".graph");
  Totals totals;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomCase c = random_case(seed);
    ASSERT_TRUE(write_case(current, c).ok());  // found there if the process ends
    const CaseReport report = check_case(c);
    if (report.failure) FAIL() << explain(seed, c, *report.failure);
    totals.add(report);
  }
  fs::remove(current);
  std::printf(
      "%d cases: %d on several devices, %d copies, %d nodes moved, %d on a copy, %d out of memory, %d refused, "
      "%d compared with the oracle\n",
      totals.cases, totals.several, totals.copies, totals.moved, totals.on_copy, totals.out_of_memory, totals.refused,
      totals.compared);
  if (totals.cases < 100) return;
  // The cases are about what they are meant to be about.
  EXPECT_GT(totals.several, totals.cases / 3);
  EXPECT_GT(totals.moved, totals.cases);
  EXPECT_GT(totals.on_copy, totals.cases / 50);
  EXPECT_GT(totals.out_of_memory, totals.cases / 100);
  EXPECT_LT(totals.refused, totals.cases / 4);
  EXPECT_GT(totals.compared, totals.cases * 9 / 10);
}

TEST(PlanProperties, KeptCasesPass) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(CHIARO_SOURCE_DIR) / "tests/plan/kept")) {
    if (entry.path().extension() != ".graph") continue;
    const auto c = read_case(entry.path().string());
    ASSERT_TRUE(c.ok()) << c.error().format();
    const CaseReport report = check_case(*c);
    EXPECT_FALSE(report.failure) << entry.path() << ": " << *report.failure;
    ++count;
  }
  EXPECT_GT(count, 0);
}

TEST(PlanProperties, CasesAreTheSameAsText) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::string text = case_text(random_case(seed));
    const auto back = parse_case(text);
    ASSERT_TRUE(back.ok()) << back.error().format() << text;
    ASSERT_EQ(case_text(*back), text);
  }
}

// What a wrong planner would fail on is made small: here, a case "fails" where a mul_ runs on a copy.
TEST(PlanProperties, AFailingCaseIsMadeSmall) {
  const auto has_copy_back = [](const RandomCase& c) {
    const auto engine = Engine::create(engine_options(c));
    if (!engine.ok()) return false;
    const auto plan = make_plan(c.graph, (*engine)->devices(), c.options);
    if (!plan.ok()) return false;
    const auto& nodes = (*plan)->graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.on_copy && n.op->name == "mul_"; });
  };
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const RandomCase c = random_case(seed);
    if (c.graph.nodes().size() < 20 || !has_copy_back(c)) continue;
    const RandomCase small = shrink(c, has_copy_back);
    EXPECT_TRUE(has_copy_back(small));
    EXPECT_LE(small.graph.nodes().size(), 4U) << case_text(small);
    EXPECT_FALSE(check_case(small).failure);
    return;
  }
  FAIL() << "no case has a mul_ on a copy";
}

}  // namespace
}  // namespace chiaro::testing
