// What is right passes under all checks, gives the same bytes without them and at any number of host threads, and gives
// the right numbers.
#include <cmath>

#include "core/tensor.h"
#include "gpu/harness.h"

namespace chiaro {
namespace {

class GpuLegal : public GpuHarness {
 protected:
  // Runs everywhere; the result of the last run.
  std::vector<float> values(std::string_view kernel, size_t buffers) {
    std::vector<float> first;
    for (SoftGpu* gpu : {&gpu_, &parallel_}) {
      for (bool checks : {true, false}) {
        y_.values.assign(128, -1.0f);
        y_.init.mark(0, 512, false);
        for (uint32_t schedule = 0; schedule < 4; ++schedule) {
          y_.init.mark(0, 512, false);
          const SoftOptions options{checks, 60, nullptr, schedule};
          const auto result = buffers == 1 ? run_y(kernel, *gpu, options) : run_xy(kernel, *gpu, options);
          EXPECT_TRUE(result.ok()) << result.error().format();
          if (first.empty()) first = y_.values;
          EXPECT_EQ(first, y_.values) << kernel << " checks " << checks << " order " << schedule;
        }
      }
    }
    return first;
  }
};

TEST_F(GpuLegal, Barriers) {
  auto y = values("exchange", 1);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(y[i], static_cast<float>((i % 64) ^ 33u));
  y = values("simdgroup_exchange", 1);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(y[i], static_cast<float>((i % 64 ^ 1u) + i % 64 / 32 * 32 + i % 64));
  y = values("device_exchange", 1);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(y[i], static_cast<float>(i % 64 ^ 1u));
}

TEST_F(GpuLegal, MemoryThatManyRead) {
  EXPECT_EQ(values("all_read_one", 2), std::vector<float>(128, 2.0f));
  const SoftBuffer both[] = {x_.bind(), x_.bind()};
  ASSERT_TRUE(gpu_.run(dispatch("in_place", 2), both).ok());
  EXPECT_EQ(x_.values, std::vector<float>(128, 2.0f));
}

TEST_F(GpuLegal, Reductions) {
  const auto y = values("sums", 1);
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(y[i], i < 64 ? 2080.0f : 6176.0f);
  for (uint32_t threads : {32u, 96u, 160u, 224u}) {  // not powers of two
    TestBuffer one(threads);
    const SoftBuffer buffers[] = {one.bind()};
    ASSERT_TRUE(gpu_.run(dispatch("sums", 1, 1, threads), buffers).ok());
    EXPECT_EQ(one.values[threads / 2], static_cast<float>(threads * (threads + 1) / 2));
  }
  const auto v = values("integers", 1);
  for (uint32_t i = 0; i < 128; ++i) {
    const uint32_t lane = i % 32, x = (lane ^ 5u) + 3 + (31 - lane);
    EXPECT_EQ(v[i], static_cast<float>(-16 + 1500 - 160000) + 0.5f * static_cast<float>(x) + 31.0f);
  }
}

TEST_F(GpuLegal, VectorsOfAnArray) {
  const auto y = values("vectors_of_an_array", 1);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(y[i], static_cast<float>(i % 64 / 4 * 16 + 6));
}

TEST_F(GpuLegal, MatrixProduct) {
  std::vector<float> x(128);
  for (size_t i = 0; i < 128; ++i) x[i] = static_cast<float>(i * 7 % 11) - 5;
  x_.set(x);
  const auto y = values("matrix_product", 2);
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = 0; j < 8; ++j) {
      float sum = 0;
      for (size_t k = 0; k < 8; ++k) sum += x[i * 8 + k] * x[64 + k * 8 + j];
      EXPECT_EQ(y[i * 8 + j], sum);
    }
  }
}

// Every code of the small formats, and what the widest ones round to.
TEST_F(GpuLegal, Conversions) {
  for (DType type : {DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8}) {
    const bool wide = unit_bytes(type) == 2;
    const size_t count = wide ? 65536 : 256;
    std::vector<std::byte> codes(count * static_cast<size_t>(unit_bytes(type)));
    for (size_t i = 0; i < count; ++i)
      std::memcpy(codes.data() + i * static_cast<size_t>(unit_bytes(type)), &i, static_cast<size_t>(unit_bytes(type)));
    for (const char* kernel : {"convert", "convert_four"}) {
      TestBuffer y(count);
      GpuDispatch d = dispatch(kernel, 2, static_cast<uint32_t>(count / 64));
      d.constants = {static_cast<uint32_t>(type)};
      d.set_args(TestArgs{static_cast<u32>(count), 0});
      const SoftBuffer buffers[] = {{codes.data(), static_cast<int64_t>(codes.size()), nullptr, 0, 0}, y.bind()};
      ASSERT_TRUE(parallel_.run(d, buffers).ok());
      for (size_t i = 0; i < count; ++i) {
        const double right = load_element(type, codes.data(), static_cast<int64_t>(i));
        if (std::isnan(right)) {
          ASSERT_TRUE(std::isnan(y.values[i])) << dtype_name(type) << " code " << i;
        } else {
          ASSERT_EQ(static_cast<double>(y.values[i]), right) << dtype_name(type) << " code " << i;
        }
      }
    }
  }
}

TEST_F(GpuLegal, Rounding) {
  std::vector<float> x(4096);
  for (uint32_t i = 0; i < 4096; ++i) {
    const uint32_t bits = i * 0x9E3779B9u;
    std::memcpy(&x[i], &bits, 4);
  }
  TestBuffer in(4096);
  in.set(x);
  for (DType type : {DType::f16, DType::bf16}) {
    std::vector<std::byte> y(8192), right(8192);
    GpuDispatch d = dispatch("narrow", 2, 64);
    d.constants = {static_cast<uint32_t>(type)};
    d.set_args(TestArgs{4096, 0});
    const SoftBuffer buffers[] = {in.bind(), {y.data(), 8192, nullptr, 0, 2}};
    const auto result = parallel_.run(d, buffers);
    ASSERT_TRUE(result.ok()) << result.error().format();
    EXPECT_EQ(result->bytes_read, 16384.0);
    EXPECT_EQ(result->bytes_written, 8192.0);
    for (uint32_t i = 0; i < 4096; ++i) {
      if (std::isnan(x[i])) continue;
      store_element(type, right.data(), i, static_cast<double>(x[i]));
      ASSERT_EQ(std::memcmp(y.data() + 2 * i, right.data() + 2 * i, 2), 0) << x[i];
    }
  }
}

TEST_F(GpuLegal, ComplementOfErf) {
  TestBuffer in(4096), out(4096);
  std::vector<float> x(4096);
  for (size_t i = 0; i < 4096; ++i) x[i] = -6.0f + static_cast<float>(i) * (15.0f / 4096.0f);
  in.set(x);
  GpuDispatch d = dispatch("complement_of_erf", 2, 64);
  d.set_args(TestArgs{4096, 0});
  const SoftBuffer buffers[] = {in.bind(), out.bind()};
  ASSERT_TRUE(gpu_.run(d, buffers).ok());
  for (size_t i = 0; i < 4096; ++i) {
    const double right = std::erfc(static_cast<double>(x[i]));
    ASSERT_NEAR(static_cast<double>(out.values[i]), right, 4e-7 * right) << x[i];
  }
}

TEST(GpuProfiles, AreReadStrictly) {
  EXPECT_EQ(gpu::profile_names(), (std::vector<std::string>{"apple5-vm", "apple7", "apple8", "apple9"}));
  for (const std::string& name : gpu::profile_names()) {
    const auto profile = gpu::find_profile(name);
    ASSERT_TRUE(profile.ok()) << profile.error().format();
    EXPECT_EQ(profile->name, name);
    EXPECT_EQ(profile->traits.simd_matrix, name != "apple5-vm");
  }
  EXPECT_FALSE(gpu::find_profile("apple1").ok());
  std::string text(gpu::profile_texts()[1].json);
  EXPECT_TRUE(gpu::parse_profile(text, "t").ok());
  EXPECT_FALSE(gpu::parse_profile(text + "x", "t").ok());
  text.insert(1, "\"colour\": 1,");
  EXPECT_NE(gpu::parse_profile(text, "t").error().why.find("no field \"colour\""), std::string::npos);
  EXPECT_NE(gpu::parse_profile("{}", "t").error().why.find("it lacks \"name\""), std::string::npos);
}

}  // namespace
}  // namespace chiaro
