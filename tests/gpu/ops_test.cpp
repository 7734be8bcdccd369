// The conformance cases of every op that has a GPU kernel, on the software GPU of two profiles, under all checks; and
// without checks the same bytes. A part of the variants (part_of_variants.h); all where CHIARO_LONG is set.
#include <gtest/gtest.h>

#include "gpu/part_of_variants.h"
#include "gpu/soft_device.h"
#include "long_tests.h"
#include "runtime/conformance_check.h"

namespace chiaro {
namespace {

struct OpOnProfile {
  std::string op, profile;
};
void PrintTo(const OpOnProfile& p, std::ostream* out) {
  *out << p.op << " on " << p.profile;
}

std::vector<OpOnProfile> all_ops() {
  std::vector<OpOnProfile> all;
  for (const Kernels& kernels : gpu_kernel_table()) {
    for (const char* profile : {"apple7", "apple5-vm"}) all.push_back({std::string(kernels.front().op), profile});
  }
  return all;
}

class GpuOps : public ::testing::TestWithParam<OpOnProfile> {
 protected:
  void run_variant(const Variant& v) {
    const auto out = v.infer();
    if (!out.ok()) return;
    const auto expected = expectation(v, *out);
    ASSERT_TRUE(expected.ok()) << v.text() << ": " << expected.error().format();
    for (const Kernel& kernel : checked_.kernels(GetParam().op)) {
      const VariantRun run = launch_variant(checked_, kernel, v, *out, expected->values);
      if (run.refused) {
        ++refused_[run.why];
        continue;
      }
      ++ran_;
      const auto wrong = wrong_with(v, *expected, run, kernel.name);
      ASSERT_FALSE(wrong.has_value()) << *wrong;
      const VariantRun fast = launch_variant(fast_, kernel, v, *out, expected->values);
      ASSERT_FALSE(fast.broken) << v.text() << ": " << fast.why;
      ASSERT_TRUE(fast.output == run.output) << v.text() << ", by " << kernel.name << ": other bytes without checks";
    }
  }
  ThreadPool pool_{2};
  const gpu::Profile profile_ = *gpu::find_profile(GetParam().profile);
  SoftTestDevice checked_{profile_, pool_}, fast_{profile_, pool_, false};
  int ran_ = 0;
  std::map<std::string, int> refused_;
};

TEST_P(GpuOps, AgreesWithTheReferenceUnderAllChecks) {
  const std::vector<Case> cases = cases_of(GetParam().op);
  ASSERT_FALSE(cases.empty());
  for (size_t i = 0; i < cases.size(); ++i) {
    std::vector<Variant> variants = expand(cases[i], static_cast<int>(i));
    if (!testing::long_tests()) variants = testing::part_of_variants(std::move(variants), GetParam().profile);
    for (const Variant& v : variants) {
      run_variant(v);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ran_, 0);
  for (const auto& [why, count] : refused_) std::cout << count << " variants refused: " << why << "\n";
  std::cout << ran_ << " variants ran\n";
}

TEST(PartOfVariants, KeepsEveryDtypeLayoutAndBatchOfEachCase) {
  const std::vector<Case> cases = cases_of("matmul_id");
  std::set<std::set<std::string>> parts;
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::vector<Variant> all = expand(cases[i], static_cast<int>(i));
    for (const char* salt : {"apple7", "apple5-vm"}) {
      const std::vector<Variant> part = testing::part_of_variants(all, salt);
      std::set<std::string> wanted, got, texts;
      for (const Variant& v : all) wanted.merge(testing::traits_of(v));
      for (const Variant& v : part) got.merge(testing::traits_of(v));
      for (const Variant& v : part) texts.insert(v.text());
      EXPECT_EQ(got, wanted) << cases[i].note;
      EXPECT_LE(part.size(), all.size());
      parts.insert(texts);
    }
  }
  EXPECT_GT(parts.size(), cases.size());  // not the same part on both
}

INSTANTIATE_TEST_SUITE_P(All, GpuOps, ::testing::ValuesIn(all_ops()), [](const auto& one) {
  std::string name = one.param.op + "_" + one.param.profile;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace chiaro
