// The shipped model in fewer bits: its pictures stay near those of the f16 weights and show the same things.
// CHIARO_LONG=1 makes more pictures, of more types: the table of docs/quantisation.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "composition.h"
#include "long_tests.h"
#include "narrowed_model.h"
#include "shipped_model.h"

namespace chiaro::testing {
namespace {

struct Narrowed {
  DType type;
  double least_psnr;  // of every picture, dB
  bool always;        // not only with CHIARO_LONG
};

TEST(Quantised, PicturesStayNearAndShowTheSame) {
  const auto compositions = golden_compositions(long_tests() ? 16 : 1);
  std::vector<Picture> exact;
  const Score plain = score_prompts(shared_session(), compositions, &exact);
  std::printf("  %-8s %6s MB  PSNR median least  objects %d of %d\n", "type", "", plain.right, plain.objects);
  for (const Narrowed& n : {Narrowed{DType::q8_0, 36, true},
                            {DType::q5_k, 28, true},
                            {DType::q4_k, 22, true},
                            {DType::f8_e4m3, 24, true},
                            {DType::q6_k, 28, false},
                            {DType::q4_0, 16, false},
                            {DType::nvfp4, 12, false},
                            {DType::q3_k, 12, false}}) {
    if (!n.always && !long_tests()) continue;
    const NarrowedModel narrowed = narrowed_model(n.type, "quantised");
    LoadOptions options;
    options.model = narrowed.path;
    const auto session = Session::load(options);
    ASSERT_TRUE(session.ok()) << session.error().format();
    std::vector<Picture> made;
    const Score score = score_prompts(**session, compositions, &made);
    ASSERT_EQ(made.size(), exact.size());
    std::vector<double> psnr;
    for (size_t i = 0; i < made.size(); ++i) {
      const auto difference =
          compare_images({made[i].width, made[i].height, made[i].rgb}, {exact[i].width, exact[i].height, exact[i].rgb});
      ASSERT_TRUE(difference.ok());
      psnr.push_back(difference->psnr);
      EXPECT_GT(difference->pixels, 0) << dtype_name(n.type) << " was not rounded";
    }
    std::sort(psnr.begin(), psnr.end());
    const double least = psnr.front(), median = (psnr[(psnr.size() - 1) / 2] + psnr[psnr.size() / 2]) / 2;
    std::printf("  %-8s %6.1f MB      %5.1f   %5.1f  objects %d of %d, backgrounds %d of %d\n",
                std::string(dtype_name(n.type)).c_str(), static_cast<double>(narrowed.bytes) / 1e6, median, least,
                score.right, score.objects, score.backgrounds, score.pictures);
    std::fflush(stdout);
    EXPECT_GT(least, n.least_psnr) << dtype_name(n.type);
    EXPECT_EQ(score.backgrounds, score.pictures) << dtype_name(n.type);
    if (n.always) {
      EXPECT_GE(score.right, plain.right - plain.objects / 8) << dtype_name(n.type);
    }
  }
}

}  // namespace
}  // namespace chiaro::testing
