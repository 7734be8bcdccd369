// Noise against PyTorch's own numbers, recorded on a CPU and on an H200 (tests/golden/rng).
#include "diffusion/rng.h"

#include "golden_file.h"

namespace chiaro {
namespace {

using testing::golden;
using testing::open_golden;

constexpr double kNormalsWithin = 2e-6;

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double most = 0;
  for (size_t i = 0; i < b.size(); ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
  return most;
}

TEST(Philox, WordsAreBitEqual) {
  const auto file = open_golden("rng/philox_words.safetensors");
  const auto* counter = reinterpret_cast<const uint32_t*>(file.find("counter")->bytes);
  const auto* key = reinterpret_cast<const uint32_t*>(file.find("key")->bytes);
  const auto* words = reinterpret_cast<const uint32_t*>(file.find("words")->bytes);
  for (size_t i = 0; i < 64; ++i) {
    const auto got = philox4x32({counter[4 * i], counter[4 * i + 1], counter[4 * i + 2], counter[4 * i + 3]},
                                {key[2 * i], key[2 * i + 1]});
    for (size_t j = 0; j < 4; ++j) ASSERT_EQ(got[j], words[4 * i + j]) << i;
  }
}

// torch.empty(n, dtype=int32).random_(): the first word of each counter, without its sign.
TEST(Philox, IntegersOfPyTorchAreBitEqual) {
  const auto file = open_golden("rng/torch_cuda.safetensors");
  const TensorDataPtr want = file.find("seed42.int31");
  const auto* values = reinterpret_cast<const int32_t*>(want->bytes);
  for (uint32_t i = 0; i < static_cast<uint32_t>(want->desc.count()); ++i) {
    ASSERT_EQ(static_cast<int32_t>(philox4x32({0, 0, i, 0}, {42, 0})[0] & 0x7FFFFFFFu), values[i]) << i;
  }
}

class CudaSeeds : public ::testing::TestWithParam<uint64_t> {};

TEST_P(CudaSeeds, SuccessiveCallsMatch) {
  const auto file = open_golden("rng/torch_cuda.safetensors");
  const auto generator = make_noise_generator(RngKind::cuda, GetParam());
  const size_t sizes[] = {4 * 32 * 32, 4 * 64 * 64, 7};
  for (size_t call = 0; call < 3; ++call) {
    std::vector<float> got(sizes[call]);
    generator->normals(got);
    const std::string name = "seed" + std::to_string(GetParam()) + ".call" + std::to_string(call);
    const auto head = golden(file, name + ".head");
    ASSERT_FALSE(head.empty());
    EXPECT_LE(largest_difference(got, head), kNormalsWithin) << name;
    if (sizes[call] < 16) continue;
    const auto tail = golden(file, name + ".tail");
    ASSERT_EQ(tail.size(), 16U);
    EXPECT_LE(largest_difference(std::span(got).last(16), tail), kNormalsWithin) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CudaSeeds,
                         ::testing::Values(0, 1, 42, 1234567890123, uint64_t{1} << 32, (uint64_t{1} << 32) + 5,
                                           (uint64_t{1} << 63) - 1, ~uint64_t{0}));

class CpuSeeds : public ::testing::TestWithParam<uint64_t> {};

TEST_P(CpuSeeds, EverySizeMatches) {
  const auto file = open_golden("rng/torch_cpu.safetensors");
  for (const size_t n : {5, 15, 16, 17, 100, 4 * 32 * 32}) {
    const std::string name = "seed" + std::to_string(GetParam()) + ".n" + std::to_string(n);
    const auto want = golden(file, name);
    ASSERT_FALSE(want.empty());
    std::vector<float> got(n);
    make_noise_generator(RngKind::cpu, GetParam())->normals(got);
    EXPECT_LE(largest_difference(std::span(got).first(want.size()), want), kNormalsWithin) << name;
  }
}

TEST_P(CpuSeeds, TheSpareNormalWaitsAcrossCalls) {
  const auto file = open_golden("rng/torch_cpu.safetensors");
  const auto generator = make_noise_generator(RngKind::cpu, GetParam());
  const size_t sizes[] = {5, 17, 7, 64, 3};
  for (size_t call = 0; call < 5; ++call) {
    std::vector<float> got(sizes[call]);
    generator->normals(got);
    const auto want = golden(file, "seed" + std::to_string(GetParam()) + ".calls." + std::to_string(call));
    ASSERT_EQ(want.size(), got.size());
    EXPECT_LE(largest_difference(got, want), kNormalsWithin) << call;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CpuSeeds,
                         ::testing::Values(0, 1, 42, (uint64_t{1} << 32) + 5, (uint64_t{1} << 63) - 1));

}  // namespace
}  // namespace chiaro
