// What is said of timings that are known.
#include "ab/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipeline/image/image_io.h"

namespace chiaro::ab {
namespace {

namespace fs = std::filesystem;

Report made(std::vector<double> a, std::vector<double> b, std::vector<double> again = {}) {
  Report report;
  report.options.commands = {CommandText{.text = "paint <fast> & \"well\""}, CommandText{.text = "paint `x`"}};
  report.options.repeats = static_cast<int>(a.size());
  report.options.with_b = !b.empty();
  report.options.with_again = !again.empty();
  report.measured.runs.push_back({.variant = kA, .warmup = true, .seconds = 99});
  for (size_t i = 0; i < a.size(); ++i) {
    const auto repeat = static_cast<int>(i);
    const auto add = [&](int variant, double seconds) {
      report.measured.runs.push_back({.variant = variant,
                                      .repeat = repeat,
                                      .seconds = seconds,
                                      .cpu_seconds = 2 * seconds,
                                      .peak_bytes = 3 << 20});
    };
    add(kA, a[i]);
    if (!b.empty()) add(kB, b[i]);
    if (!again.empty()) add(kAgain, again[i]);
  }
  evaluate(report);
  return report;
}

TEST(Verdict, FasterSlowerAndInsideTheSpread) {
  EXPECT_NE(verdict(made({1, 1.01, 0.99}, {0.8, 0.81, 0.79})).find("B is faster, less by 20.0 %"), std::string::npos);
  EXPECT_NE(verdict(made({0.8, 0.81, 0.79}, {1, 1.01, 0.99})).find("B is slower, more by 25.0 %"), std::string::npos);
  const std::string inside = verdict(made({1, 1.1, 0.9, 1}, {1.05, 0.95, 1, 1}));
  EXPECT_NE(inside.find("lies inside its own spread"), std::string::npos) << inside;
  EXPECT_EQ(inside.find("faster"), std::string::npos) << inside;
}

TEST(Verdict, ADifferenceWithinTheNoiseFloorIsNone) {
  // B is 2 % slower in every pair; A against itself goes from -4 % to +4 %.
  const Report report = made({1, 1, 1, 1}, {1.02, 1.021, 1.02, 1.019}, {1.04, 0.96, 1.03, 0.97});
  EXPECT_NE(verdict(report).find("cannot be told from noise"), std::string::npos) << verdict(report);
  EXPECT_NE(noise_sentence(report).find("the noise floor is"), std::string::npos) << noise_sentence(report);
  EXPECT_GT(report.again->floor(), 0.05);  // Student's: 3.18 times 4 % over the root of 4
  EXPECT_LT(report.again->floor(), 0.09);
  const Report clear = made({1, 1, 1, 1}, {1.3, 1.31, 1.3, 1.29}, {1.04, 0.96, 1.03, 0.97});
  EXPECT_NE(verdict(clear).find("B is slower"), std::string::npos) << verdict(clear);
}

TEST(Verdict, AAgainstItselfAlone) {
  const Report report = made({1, 1.01, 0.99}, {}, {1.01, 1, 0.99});
  EXPECT_EQ(verdict(report).rfind("A against A: 1.000", 0), 0U) << verdict(report);
  const Report drifting = made({1, 1.01, 0.99}, {}, {1.2, 1.21, 1.19});
  EXPECT_NE(verdict(drifting).find("trust no small difference"), std::string::npos) << verdict(drifting);
}

TEST(Report, JsonHoldsEveryRunAndTheRatio) {
  const Report report = made({1, 2, 4}, {0.5, 1, 2});
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["runs"].size(), 7U) << "the warm-up too";
  EXPECT_NEAR(json["b_over_a"]["ratio"].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(json["b_over_a"]["inside_its_own_spread"], false);
  EXPECT_TRUE(json["a_over_a"].is_null());
  EXPECT_EQ(json["variants"][0]["median"], 2);
  EXPECT_EQ(json["variants"][0]["most_bytes"], 3 << 20);
  EXPECT_EQ(json["variants"][0]["command"], "paint <fast> & \"well\"");
  EXPECT_EQ(json["runs"][0]["warmup"], true);
  EXPECT_EQ(json["machine"]["system"].get<std::string>(), report.machine.system);
}

TEST(Report, ProcessorTimeIsAnotherClock) {
  Report report = made({1, 2, 4}, {0.5, 1, 2});
  report.clock = Clock::cpu;
  evaluate(report);
  EXPECT_EQ(nlohmann::json::parse(to_json(report))["variants"][0]["median"], 4);
  EXPECT_NE(to_text(report).find("processor time"), std::string::npos);
}

TEST(Report, TextAndMarkdownNameWhatWasRun) {
  const Report report = made({1, 2, 4}, {0.5, 1, 2}, {1, 2, 4});
  const std::string text = to_text(report), markdown = to_markdown(report, "plot.svg", "./");
  for (const char* part : {"A  paint <fast> & \"well\"", "2.000 s", "500.0 ms", "3.0 MiB", "A again"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  for (const char* part : {"- A: `paint <fast>", "- B: `` paint `x` ``", "| 2.000 s |", "![every run](plot.svg)"}) {
    EXPECT_NE(markdown.find(part), std::string::npos) << part << "\n" << markdown;
  }
}

TEST(Report, ThePlotHasADotForEveryRunAndPair) {
  const Report report = made({1, 1.01, 0.99}, {0.9, 0.92, 0.91}, {1, 1, 1});
  const std::string svg = to_svg(report);
  size_t dots = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++dots;
  EXPECT_EQ(dots, 9U + 6U) << "nine runs, two ratios of three pairs";
  EXPECT_NE(svg.find("paint &lt;fast&gt; &amp; &quot;well&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(to_svg(made({1, 1}, {1, 1})).find("nan"), std::string::npos) << "no spread at all";
  EXPECT_EQ(to_svg(made({1, 3}, {2, 1})).find("inf"), std::string::npos) << "an interval without end";
}

class OutputFiles : public ::testing::Test {
 protected:
  fs::path save(const std::string& name, int width, uint8_t value, const PngText& text = {}) {
    const fs::path path = fs::path(CHIARO_TMP_DIR) / ("ab-output-" + name + ".png");
    std::vector<uint8_t> rgb(static_cast<size_t>(width * 8 * 3), 100);
    rgb[5] = value;
    EXPECT_TRUE(save_png(path, width, 8, rgb, text).ok());
    return path;
  }
};

TEST_F(OutputFiles, AreComparedAsBytesThenAsPictures) {
  const fs::path one = save("one", 8, 100), same = save("same", 8, 100), text = save("text", 8, 100, {{"k", "v"}});
  const fs::path other = save("other", 8, 110), wide = save("wide", 16, 100);
  EXPECT_EQ(compare_outputs(one, same).text(), "the same bytes");
  EXPECT_EQ(compare_outputs(one, text).text(), "the same pixels");
  // One value of 192 differs by 10: 10 log10(255^2 / (100 / 192)).
  const std::string difference = compare_outputs(one, other).text();
  EXPECT_EQ(difference.rfind("PSNR 50.96 dB", 0), 0U) << difference;
  EXPECT_NE(difference.find("largest difference 10, 1 pixels differ"), std::string::npos) << difference;
  EXPECT_FALSE(compare_outputs(one, wide).trouble.empty());
  EXPECT_FALSE(compare_outputs(one, fs::path(CHIARO_SOURCE_DIR) / "README.md").trouble.empty());
}

}  // namespace
}  // namespace chiaro::ab
