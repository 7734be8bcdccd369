// The shipped model in fewer bits: its pictures stay near those of the f16 weights and show the same things.
// CHIARO_LONG=1 makes more pictures, of more types: the table of docs/quantisation.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "composition.h"
#include "shipped_model.h"
#include "weights/convert_folder.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

struct Narrowed {
  DType type;
  double least_psnr;  // of every picture, dB
  bool always;        // not only with CHIARO_LONG
};

bool long_form() {
  return std::getenv("CHIARO_LONG") != nullptr;
}

// The folder of the shipped model in `type`; convolutions too, whose rows no block divides, in joined rows.
std::string narrowed_model(DType type, int64_t& bytes) {
  const fs::path out = fs::path(CHIARO_TMP_DIR) / "quantised" / std::string(dtype_name(type));
  fs::remove_all(out);
  fs::create_directories(out.parent_path());
  ThreadPool pool(0);
  ConvertRequest request;
  request.in = shipped_model_path();
  request.out = out;
  request.type = type;
  request.join_rows = true;
  request.pool = &pool;
  const auto report = convert_folder(request);
  EXPECT_TRUE(report.ok()) << report.error().format();
  bytes = 0;
  if (!report.ok()) return {};
  for (const auto& [name, component] : report->components) bytes += component.bytes;
  return out.string();
}

TEST(Quantised, PicturesStayNearAndShowTheSame) {
  const auto compositions = golden_compositions(long_form() ? 16 : 1);
  std::vector<Picture> exact;
  const Score plain = score_prompts(shared_session(), compositions, &exact);
  std::printf("  %-8s %6s MB  PSNR mean   least  objects %d of %d\n", "type", "", plain.right, plain.objects);
  for (const Narrowed& n : {Narrowed{DType::q8_0, 45, true},
                            {DType::q6_k, 28, false},
                            {DType::q5_k, 33, true},
                            {DType::q4_k, 26, true},
                            {DType::q4_0, 16, false},
                            {DType::f8_e4m3, 27, true},
                            {DType::nvfp4, 12, false},
                            {DType::q3_k, 12, false}}) {
    if (!n.always && !long_form()) continue;
    int64_t bytes = 0;
    LoadOptions options;
    options.model = narrowed_model(n.type, bytes);
    const auto session = Session::load(options);
    ASSERT_TRUE(session.ok()) << session.error().format();
    std::vector<Picture> made;
    const Score score = score_prompts(**session, compositions, &made);
    ASSERT_EQ(made.size(), exact.size());
    double sum = 0, least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < made.size(); ++i) {
      const auto difference =
          compare_images({made[i].width, made[i].height, made[i].rgb}, {exact[i].width, exact[i].height, exact[i].rgb});
      ASSERT_TRUE(difference.ok());
      sum += difference->psnr;
      least = std::min(least, difference->psnr);
      EXPECT_GT(difference->pixels, 0) << dtype_name(n.type) << " was not rounded";
    }
    std::printf("  %-8s %6.1f MB      %5.1f   %5.1f  objects %d of %d, backgrounds %d of %d\n",
                std::string(dtype_name(n.type)).c_str(), static_cast<double>(bytes) / 1e6,
                sum / static_cast<double>(made.size()), least, score.right, score.objects, score.backgrounds,
                score.pictures);
    EXPECT_GT(least, n.least_psnr) << dtype_name(n.type);
    EXPECT_EQ(score.backgrounds, score.pictures) << dtype_name(n.type);
    if (n.always) {
      EXPECT_GE(score.right, plain.right - plain.objects / 8) << dtype_name(n.type);
    }
  }
}

}  // namespace
}  // namespace chiaro::testing
