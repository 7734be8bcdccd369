// Winograd's convolution against double loops, its stated error, and the promises on bits.
#include "ops/cpu_blocks/winograd.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "gemm_fixtures.h"
#include "ops/cpu_blocks/winograd_cut.h"

namespace chiaro {
namespace {

using blocks_test::make_strided;
using blocks_test::PoisonedScratch;
using blocks_test::random_strided;
using blocks_test::Strided;

struct Sizes {
  int64_t batch = 1, h = 8, w = 8, channels = 8, n = 8, pad_top = 1, pad_bottom = 1, pad_left = 1, pad_right = 1;
  DType type = DType::f32, weights = DType::f32;
  std::vector<int> order{0, 1, 2, 3};
  bool bias = false, residual = false, packed = false;
  Activation activation = Activation::none;
  int threads = 1;
  int64_t out_h() const { return h + pad_top + pad_bottom - 2; }
  int64_t out_w() const { return w + pad_left + pad_right - 2; }
};

struct Tensors {
  Strided x, w, bias, residual, out;
};

Tensors make_tensors(const Sizes& s, uint32_t seed = 1) {
  Tensors t;
  const Shape out{s.batch, s.out_h(), s.out_w(), s.n};
  t.x = random_strided(s.type, {s.batch, s.h, s.w, s.channels}, s.order, 1, seed);
  t.w = random_strided(s.weights, {s.n, s.channels, 3, 3}, {0, 1, 2, 3}, 1, seed + 1);
  t.bias = random_strided(DType::f32, {s.n}, {0}, 2, seed + 2);
  t.residual = random_strided(s.type, out, s.order, 1, seed + 3);
  t.out = make_strided(s.type, out, s.order, 1);
  return t;
}

GemmProblem problem_of(const Sizes& s, Tensors& t) {
  GemmProblem p;
  p.batch = s.batch;
  const auto& xs = t.x.desc.strides;
  p.a = {t.x.data(), s.type, xs[0], xs[1],     xs[2],      xs[3], s.h, s.w,       s.channels, 3,
         3,          1,      1,     s.pad_top, s.pad_left, 1,     1,   s.out_h(), s.out_w()};
  p.activation = s.activation;
  gemm_test::set_operands(p, t.w, s.bias ? &t.bias : nullptr, s.residual ? &t.residual : nullptr, t.out);
  return p;
}

Tensors run(const Sizes& s, uint32_t seed = 1) {
  Tensors t = make_tensors(s, seed);
  GemmProblem p = problem_of(s, t);
  EXPECT_TRUE(winograd_takes(p));
  ThreadPool pool(s.threads);
  std::vector<std::byte> packed;
  if (s.packed) {
    packed.resize(gemm_packed_b_bytes(p));
    gemm_pack_b(p, packed.data(), pool);
    p.b.packed = packed.data();
    p.b.data = nullptr;
  }
  PoisonedScratch scratch(winograd_scratch_bytes(p, s.threads));
  winograd(p, scratch.data(), pool);
  EXPECT_TRUE(scratch.guard_intact());
  return t;
}

// The sum of one output element in double, and that of its absolute products.
double window_sum(const Sizes& s, const Tensors& t, int64_t b, int64_t oy, int64_t ox, int64_t n, double* magnitude) {
  const auto& xs = t.x.desc.strides;
  const auto& ws = t.w.desc.strides;
  double sum = 0;
  for (int64_t tap = 0; tap < 9; ++tap) {
    const int64_t y = oy - s.pad_top + tap / 3, x = ox - s.pad_left + tap % 3;
    if (y < 0 || y >= s.h || x < 0 || x >= s.w) continue;
    for (int64_t c = 0; c < s.channels; ++c) {
      const double product = t.x.at(b * xs[0] + y * xs[1] + x * xs[2] + c * xs[3]) *
                             t.w.at(n * ws[0] + c * ws[1] + tap / 3 * ws[2] + tap % 3 * ws[3]);
      sum += product;
      *magnitude += std::fabs(product);
    }
  }
  return sum;
}

double finished(const Sizes& s, const Tensors& t, double sum, int64_t n, int64_t offset) {
  if (s.bias) sum += t.bias.at(n * 2);
  if (s.activation == Activation::silu) sum = sum / (1 + std::exp(-sum));
  return s.residual ? sum + t.residual.at(offset) : sum;
}

void check(const Sizes& s) {
  const Tensors t = run(s);
  const auto& os = t.out.desc.strides;
  const double rounding = s.type == DType::f32 ? 0 : s.type == DType::f16 ? 0x1p-11 : 0x1p-8;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t y = 0; y < s.out_h(); ++y) {
      for (int64_t x = 0; x < s.out_w(); ++x) {
        for (int64_t n = 0; n < s.n; ++n) {
          double magnitude = 1;
          const double sum = window_sum(s, t, b, y, x, n, &magnitude);
          const int64_t offset = b * os[0] + y * os[1] + x * os[2] + n * os[3];
          const double want = finished(s, t, sum, n, offset);
          ASSERT_NEAR(t.out.at(offset), want, 2e-6 * magnitude + rounding * (1 + std::fabs(want)))
              << b << " " << y << " " << x << " " << n;
        }
      }
    }
  }
}

TEST(Winograd, SizesAndPads) {
  for (const auto& [h, w] : {std::pair<int64_t, int64_t>{1, 1}, {4, 4}, {5, 7}, {13, 9}, {3, 22}}) {
    for (const int64_t pad : {1, 2}) {
      Sizes s;
      s.h = h;
      s.w = w;
      s.pad_top = s.pad_left = 1;
      s.pad_bottom = s.pad_right = pad;
      s.channels = 19;
      s.n = 37;
      check(s);
    }
  }
  Sizes s;
  s.pad_top = s.pad_bottom = s.pad_left = s.pad_right = 0;
  check(s);
}

TEST(Winograd, TypesLayoutsAndEpilogues) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::vector<int>& order : {std::vector<int>{0, 1, 2, 3}, {0, 3, 1, 2}}) {
      Sizes s;
      s.batch = 2;
      s.h = 6;
      s.w = 11;
      s.channels = 32;
      s.n = 24;
      s.type = type;
      s.weights = type == DType::bf16 ? DType::f8_e4m3 : type;
      s.order = order;
      s.bias = s.residual = true;
      s.activation = Activation::silu;
      s.packed = type != DType::f32;
      check(s);
    }
  }
}

TEST(Winograd, DeepSumsOfManyColumns) {
  Sizes s;
  s.h = 3;
  s.w = 4;
  s.channels = 650;  // five blocks
  s.n = 450;
  s.bias = true;
  check(s);
}

// Columns from which on weights of 70 channels are transformed panel by panel (winograd_cut.h).
constexpr int64_t kByTiles = 300, kByColumns = 450;

class WinogradBits : public ::testing::TestWithParam<int64_t> {};

TEST_P(WinogradBits, PackedWeightsThreadsAndBatchDoNotMatter) {
  Sizes s;
  s.batch = 3;
  s.h = 17;
  s.w = 21;
  s.channels = 70;
  s.n = GetParam();
  s.weights = DType::f16;
  s.bias = true;
  Tensors t = make_tensors(s);
  GemmProblem p = problem_of(s, t);
  ASSERT_EQ(winograd_cut(p).by_columns, s.n == kByColumns);
  const Tensors plain = run(s);
  s.packed = true;
  EXPECT_EQ(plain.out.bytes, run(s).out.bytes);
  s.threads = 3;
  EXPECT_EQ(plain.out.bytes, run(s).out.bytes);
  // The last picture alone.
  const int64_t picture = s.h * s.w * s.channels, result = s.out_h() * s.out_w() * s.n;
  p.batch = 1;
  p.a.data = t.x.data() + 2 * picture * 4;
  p.out = t.out.data() + 2 * result * 4;
  ThreadPool pool(2);
  PoisonedScratch scratch(winograd_scratch_bytes(p, 2));
  winograd(p, scratch.data(), pool);
  EXPECT_EQ(
      std::memcmp(t.out.data() + 2 * result * 4, plain.out.data() + 2 * result * 4, static_cast<size_t>(result) * 4),
      0);
}
INSTANTIATE_TEST_SUITE_P(Orders, WinogradBits, ::testing::Values(kByTiles, kByColumns));

// A picture with more tiles than are held at once, and channels of several blocks; the first columns of both have the
// same weights.
TEST(Winograd, BothOrdersGiveTheSameBits) {
  for (const auto& [side, channels, few, many] :
       {std::array<int64_t, 4>{80, 70, kByTiles, kByColumns}, {9, 333, 64, 100}}) {
    Sizes s;
    s.h = s.w = side;
    s.channels = channels;
    s.n = few;
    s.packed = true;
    const Tensors by_tiles = run(s);
    s.n = many;
    Tensors t = make_tensors(s);
    const WinogradCut cut = winograd_cut(problem_of(s, t));
    ASSERT_TRUE(cut.by_columns);
    ASSERT_EQ(cut.tiles > cut.t_group, side == 80);
    const Tensors by_columns = run(s);
    for (int64_t pixel = 0; pixel < side * side; ++pixel) {
      ASSERT_EQ(std::memcmp(by_tiles.out.bytes.data() + pixel * few * 4, by_columns.out.bytes.data() + pixel * many * 4,
                            static_cast<size_t>(few) * 4),
                0)
          << pixel;
    }
  }
}

// The figures of winograd.h: of normal numbers; here uniform ones, whose sums are as normal.
TEST(Winograd, ErrorAtTheChannelsOfAUnet) {
  Sizes s;
  s.h = s.w = 16;
  s.channels = 320;
  s.n = 16;
  const Tensors t = run(s, 7);
  const auto& os = t.out.desc.strides;
  double squares = 0, errors = 0, worst = 0;
  for (int64_t i = 0; i < s.out_h() * s.out_w() * s.n; ++i) {
    double magnitude = 0;
    const int64_t n = i % s.n, x = i / s.n % s.out_w(), y = i / s.n / s.out_w();
    const double want = window_sum(s, t, 0, y, x, n, &magnitude);
    const double error = std::fabs(t.out.at(y * os[1] + x * os[2] + n * os[3]) - want);
    squares += want * want;
    errors += error * error;
    worst = std::max(worst, error);
  }
  const double count = static_cast<double>(s.out_h() * s.out_w() * s.n), rms = std::sqrt(squares / count);
  RecordProperty("rms", std::to_string(std::sqrt(errors / count) / rms));
  EXPECT_LT(std::sqrt(errors / count), 2.5e-6 * rms);
  EXPECT_LT(worst, 2e-5 * rms);
}

// Layers of the UNet and the autoencoder, and the smallest that winograd_pays() lets through.
TEST(Winograd, ManyThreadsFindWork) {
  struct Layer {
    int64_t batch, side, channels, columns, chunks;
  };
  for (const Layer& l : {Layer{1, 64, 512, 512, 32},
                         {1, 64, 320, 320, 32},
                         {2, 32, 640, 640, 32},
                         {1, 512, 128, 128, 32},
                         {1, 256, 256, 256, 32},
                         {1, 32, 1280, 1280, 40},
                         {1, 8, 1280, 1280, 40},
                         {1, 8, 64, 64, 2}}) {
    GemmProblem p;
    p.batch = l.batch;
    p.n = l.columns;
    p.a.in_h = p.a.in_w = p.a.out_h = p.a.out_w = l.side;
    p.a.channels = l.channels;
    p.a.kh = p.a.kw = 3;
    p.a.pad_top = p.a.pad_left = 1;
    EXPECT_TRUE(winograd_pays(p));
    EXPECT_GE(winograd_chunks(p), l.chunks) << l.side << " " << l.channels;
  }
}

TEST(Winograd, TakesOnlyItsWindow) {
  Sizes s;
  Tensors t = make_tensors(s);
  GemmProblem p = problem_of(s, t);
  EXPECT_TRUE(winograd_takes(p));
  p.a.stride_w = 2;
  EXPECT_FALSE(winograd_takes(p));
  p = problem_of(s, t);
  p.a.dilation_h = 2;
  EXPECT_FALSE(winograd_takes(p));
  p = problem_of(s, t);
  p.a.kw = 1;
  EXPECT_FALSE(winograd_takes(p));
}

}  // namespace
}  // namespace chiaro
