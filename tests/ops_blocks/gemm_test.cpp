// The packed matrix product against double loops, and the promises on bits: batch, threads, tiles, packed weights.
#include "ops/cpu_blocks/gemm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "block_fixtures.h"
#include "core/block_formats.h"
#include "ops/cpu_blocks/simd_targets.h"
// The targets of the kernels, not of this file alone.
#include <hwy/targets.h>

namespace chiaro {
namespace {

using blocks_test::make_strided;
using blocks_test::PoisonedScratch;
using blocks_test::random_strided;
using blocks_test::Strided;

struct Sizes {
  int64_t batch = 1, in_h = 1, in_w = 1, channels = 1, n = 1, kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1, pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0, dilation = 1;
  DType a_type = DType::f32, b_type = DType::f32, out_type = DType::f32, extra_type = DType::f32;
  std::vector<int> a_order{0, 1, 2, 3}, b_order{0, 1, 2, 3}, out_order{0, 1, 2, 3};
  int64_t a_gap = 1, b_gap = 1, out_gap = 1;
  bool bias = false, residual = false, packed = false;
  Activation activation = Activation::none;
  int threads = 1;
  int64_t out_h() const { return (in_h + pad_top + pad_bottom - dilation * (kh - 1) - 1) / stride_h + 1; }
  int64_t out_w() const { return (in_w + pad_left + pad_right - dilation * (kw - 1) - 1) / stride_w + 1; }
  int64_t k() const { return kh * kw * channels; }
};

struct Tensors {
  Strided a, b, bias, residual, out;
};

Tensors make_tensors(const Sizes& s, uint32_t seed) {
  Tensors t;
  const Shape out_shape{s.batch, s.out_h(), s.out_w(), s.n};
  t.a = random_strided(s.a_type, {s.batch, s.in_h, s.in_w, s.channels}, s.a_order, s.a_gap, seed);
  t.b = random_strided(s.b_type, {s.n, s.channels, s.kh, s.kw}, s.b_order, s.b_gap, seed + 1);
  t.bias = random_strided(s.extra_type, {s.n}, {0}, 2, seed + 2);
  t.residual = random_strided(s.extra_type, out_shape, s.out_order, 1, seed + 3);
  t.out = make_strided(s.out_type, out_shape, s.out_order, s.out_gap);
  return t;
}

GemmMap map_of(const TensorDesc& d) {
  return {d.dtype, d.strides[0], d.strides[1], d.strides[2], d.strides[3]};
}

GemmProblem problem_of(const Sizes& s, Tensors& t) {
  GemmProblem p;
  p.batch = s.batch;
  p.n = s.n;
  const auto& as = t.a.desc.strides;
  p.a = {t.a.data(), s.a_type,   as[0],      as[1],     as[2],      as[3],      s.in_h,     s.in_w,    s.channels, s.kh,
         s.kw,       s.stride_h, s.stride_w, s.pad_top, s.pad_left, s.dilation, s.dilation, s.out_h(), s.out_w()};
  const auto& bs = t.b.desc.strides;
  p.b.data = t.b.data();
  p.b.dtype = s.b_type;
  p.b.n_stride = bs[0];
  p.b.c_stride = bs[1];
  p.b.ky_stride = bs[2];
  p.b.kx_stride = bs[3];
  if (s.bias) p.bias = t.bias.data();
  p.bias_dtype = s.extra_type;
  p.bias_stride = 2;
  p.activation = s.activation;
  if (s.residual) p.residual = t.residual.data();
  p.residual_map = map_of(t.residual.desc);
  p.out = t.out.data();
  p.out_map = map_of(t.out.desc);
  return p;
}

void run(const Sizes& s, Tensors& t) {
  GemmProblem p = problem_of(s, t);
  ThreadPool pool(s.threads);
  std::vector<std::byte> packed(gemm_packed_b_bytes(p.b, s.n, s.k()), std::byte{0xFF});
  if (s.packed) {
    gemm_pack_b(p, packed.data(), pool);
    p.b.packed = packed.data();
    p.b.data = nullptr;
  }
  PoisonedScratch scratch(gemm_scratch_bytes(p.m(), s.n, s.k(), s.threads, s.packed));
  gemm(p, scratch.data(), pool);
  ASSERT_TRUE(scratch.guard_intact());
}

double window_sum(const Sizes& s, const Tensors& t, int64_t b, int64_t oy, int64_t ox, int64_t n, double* magnitude) {
  const auto& as = t.a.desc.strides;
  const auto& bs = t.b.desc.strides;
  double sum = 0;
  for (int64_t ky = 0; ky < s.kh; ++ky) {
    for (int64_t kx = 0; kx < s.kw; ++kx) {
      const int64_t y = oy * s.stride_h - s.pad_top + ky * s.dilation;
      const int64_t x = ox * s.stride_w - s.pad_left + kx * s.dilation;
      if (y < 0 || y >= s.in_h || x < 0 || x >= s.in_w) continue;
      for (int64_t c = 0; c < s.channels; ++c) {
        const double product = t.a.at(b * as[0] + y * as[1] + x * as[2] + c * as[3]) *
                               t.b.at(n * bs[0] + c * bs[1] + ky * bs[2] + kx * bs[3]);
        sum += product;
        *magnitude += std::fabs(product);
      }
    }
  }
  return sum;
}

void check(const Sizes& s, uint32_t seed = 1) {
  Tensors t = make_tensors(s, seed);
  run(s, t);
  const auto& os = t.out.desc.strides;
  const auto& rs = t.residual.desc.strides;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t y = 0; y < s.out_h(); ++y) {
      for (int64_t x = 0; x < s.out_w(); ++x) {
        for (int64_t n = 0; n < s.n; ++n) {
          double magnitude = 1;
          double want = window_sum(s, t, b, y, x, n, &magnitude);
          if (s.bias) want += t.bias.at(2 * n);
          want = activate(s.activation, want);
          if (s.residual) want += t.residual.at(b * rs[0] + y * rs[1] + x * rs[2] + n * rs[3]);
          const double got = t.out.at(b * os[0] + y * os[1] + x * os[2] + n * os[3]);
          const double allowed = 1e-6 * magnitude + epsilon(s.out_type) * std::fabs(want) + 1e-6;
          ASSERT_NEAR(got, want, allowed) << "b " << b << " y " << y << " x " << x << " n " << n << " k " << s.k();
        }
      }
    }
  }
}

Sizes matrix(int64_t m, int64_t n, int64_t k) {
  Sizes s;
  s.in_w = m;
  s.n = n;
  s.channels = k;
  return s;
}

TEST(Gemm, OddSizes) {
  for (int64_t m : {1, 2, 3, 5, 7, 13, 97}) {
    for (int64_t n : {1, 2, 3, 5, 7, 17, 33, 65, 129, 400}) {
      for (int64_t k : {1, 2, 3, 5, 17, 33, 129, 321}) check(matrix(m, n, k));
    }
  }
}

TEST(Gemm, LargerThanEveryBlock) {
  check(matrix(200, 450, 700));
  Sizes s = matrix(3, 801, 11000);  // several groups of packed B
  s.threads = 2;
  check(s);
}

TEST(Gemm, EveryDtype) {
  const DType all[] = {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8};
  for (DType a : all) {
    for (DType b : all) {
      for (DType out : {DType::f32, DType::f16, DType::bf16}) {
        Sizes s = matrix(9, 35, 67);
        s.a_type = a;
        s.b_type = b;
        s.out_type = out;
        s.extra_type = out;
        s.bias = s.residual = a == b;
        check(s);
      }
    }
  }
}

TEST(Gemm, EveryActivationWithBiasAndResidual) {
  for (const auto& [activation, name] : kActivationNames) {
    Sizes s = matrix(11, 37, 19);
    s.activation = activation;
    s.bias = s.residual = true;
    check(s);
  }
}

TEST(Gemm, AnyStrides) {
  for (const std::vector<int>& order : {std::vector<int>{0, 1, 2, 3}, {0, 3, 1, 2}, {3, 2, 1, 0}}) {
    for (int64_t gap : {1, 3}) {
      for (DType dtype : {DType::f32, DType::f16, DType::f8_e4m3}) {
        Sizes s;
        s.batch = 2;
        s.in_h = 5;
        s.in_w = 6;
        s.channels = 7;
        s.n = 35;
        s.kh = s.kw = 3;
        s.pad_top = s.pad_bottom = s.pad_left = s.pad_right = 1;
        s.a_order = s.b_order = s.out_order = order;
        s.a_gap = s.b_gap = s.out_gap = gap;
        s.b_type = dtype;
        s.a_type = dtype;
        s.residual = true;
        check(s);
        Sizes flat = matrix(13, 40, 70);
        flat.a_order = flat.b_order = flat.out_order = order;
        flat.b_gap = gap;
        flat.b_type = dtype;
        check(flat);
      }
    }
  }
}

TEST(Gemm, ConvolutionsOfEveryKind) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t dilation : {1, 2}) {
      for (int64_t channels : {1, 3, 4, 33, 130}) {
        Sizes s;
        s.batch = 2;
        s.in_h = 9;
        s.in_w = 11;
        s.channels = channels;
        s.n = 18;
        s.kh = 3;
        s.kw = 2;
        s.stride_h = stride;
        s.stride_w = stride == 3 ? 1 : stride;
        s.dilation = dilation;
        s.pad_top = 1;
        s.pad_bottom = 2;
        s.pad_right = 3;
        s.bias = true;
        check(s);
      }
    }
  }
}

TEST(Gemm, EmptySumIsBiasAndResidual) {
  Sizes s = matrix(5, 7, 0);
  s.bias = s.residual = true;
  s.activation = Activation::silu;
  check(s);
}

TEST(Gemm, PackedWeightsGiveTheSameBits) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8}) {
    for (const int64_t n : {1, 17, 320, 450}) {
      Sizes s = matrix(n == 17 ? 2 : 50, n, 700);
      s.b_type = dtype;
      s.bias = true;
      Tensors plain = make_tensors(s, 5);
      run(s, plain);
      s.packed = true;
      Tensors packed = make_tensors(s, 5);
      run(s, packed);
      ASSERT_EQ(plain.out.bytes, packed.out.bytes) << n << " " << dtype_name(dtype);
    }
  }
}

TEST(Gemm, PackedWindowsGiveTheSameBits) {
  for (const int64_t n : {3, 37}) {
    Sizes s;
    s.in_h = s.in_w = 7;
    s.channels = 33;
    s.n = n;
    s.kh = s.kw = 3;
    s.b_type = DType::f16;
    Tensors plain = make_tensors(s, 5);
    run(s, plain);
    s.packed = true;
    Tensors packed = make_tensors(s, 5);
    run(s, packed);
    ASSERT_EQ(plain.out.bytes, packed.out.bytes) << n;
  }
}

// B as blocks, and as f32 of what the blocks decode to, which must give the same bits.
void expect_bits_of_decoded(const Sizes& s, DType dtype) {
  Tensors plain = make_tensors(s, 6);
  const int64_t elements = s.n * s.k();
  auto* numbers = reinterpret_cast<float*>(plain.b.data());
  std::vector<std::byte> blocks(static_cast<size_t>(elements / traits(dtype).block_elements * unit_bytes(dtype)));
  encode_blocks(dtype, numbers, elements, blocks.data());
  decode_blocks(dtype, blocks.data(), 0, elements, numbers);
  run(s, plain);
  Tensors read = make_tensors(s, 6);
  GemmProblem p = problem_of(s, read);
  p.b.dtype = dtype;
  p.b.data = blocks.data();
  p.b.n_stride = s.k();
  ThreadPool pool(s.threads);
  PoisonedScratch scratch(gemm_scratch_bytes(p.m(), s.n, s.k(), s.threads, gemm_reads_blocks(p)));
  gemm(p, scratch.data(), pool);
  EXPECT_TRUE(scratch.guard_intact());
  ASSERT_EQ(plain.out.bytes, read.out.bytes)
      << dtype_name(dtype) << " m=" << p.m() << " n=" << s.n << " k=" << s.k() << " read " << gemm_reads_blocks(p);
}

// Few rows, read slab by slab; more, by panels in the cache; many, packed. Panels that are not full, blocks of k that
// end within a row, more than one chunk of columns.
TEST(Gemm, BlocksGiveTheBitsOfWhatTheyDecodeTo) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_block(dtype)) continue;
    for (const int64_t m : {1, 2, 3, 5, 8, 9, 97}) expect_bits_of_decoded(matrix(m, 5, 768), dtype);
    Sizes threads = matrix(1, 165, 512);
    threads.threads = 3;
    expect_bits_of_decoded(threads, dtype);
    if (traits(dtype).block_elements == 32) expect_bits_of_decoded(matrix(7, 33, 352), dtype);
  }
}

// Every instruction set that this machine has and the kernels are compiled for: panels are as wide as its vectors.
TEST(Gemm, BlocksOnOtherInstructionSets) {
  int sets = 0;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    ++sets;
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (!is_block(dtype)) continue;
      for (const int64_t m : {1, 4, 7, 97}) expect_bits_of_decoded(matrix(m, 37, 512), dtype);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  std::printf("%d instruction sets\n", sets);
}

TEST(Gemm, BlocksThatDoNotEndWithRowsGiveTheBitsOfWhatTheyDecodeTo) {
  Sizes s;
  s.in_h = s.in_w = 6;
  s.channels = 36;
  s.n = 24;
  s.kh = s.kw = 3;
  expect_bits_of_decoded(s, DType::q8_0);
  expect_bits_of_decoded(s, DType::q5_1);
}

// Row m of a product has the bits that it has in a product of any other number of rows, on any number of threads.
TEST(Gemm, RowsDoNotDependOnTheBatchOrTheThreads) {
  for (int64_t n : {3, 40, 321}) {
    Sizes all = matrix(131, n, 645);
    all.activation = Activation::gelu;
    all.bias = true;
    Tensors whole = make_tensors(all, 9);
    run(all, whole);
    for (int threads : {2, 3}) {
      Sizes again = all;
      again.threads = threads;
      Tensors t = make_tensors(again, 9);
      run(again, t);
      ASSERT_EQ(whole.out.bytes, t.out.bytes) << threads << " threads";
    }
    for (int64_t first : {0, 1, 50, 129}) {
      for (int64_t rows : {1, 2, 7}) {
        if (first + rows > 131) continue;
        Sizes part = all;
        part.in_w = rows;
        Tensors t = make_tensors(part, 9);
        GemmProblem p = problem_of(part, t);
        p.a.data = whole.a.data() + first * 645 * 4;
        p.b.data = whole.b.data();
        p.bias = whole.bias.data();
        ThreadPool pool(1);
        PoisonedScratch scratch(gemm_scratch_bytes(rows, n, 645, 1));
        gemm(p, scratch.data(), pool);
        ASSERT_EQ(std::memcmp(t.out.data(), whole.out.data() + first * n * 4, static_cast<size_t>(rows * n * 4)), 0)
            << "rows " << first << " + " << rows;
      }
    }
  }
}

// Column n likewise: a matrix of fewer columns gives the same bits for those that it has.
TEST(Gemm, ColumnsDoNotDependOnTheirTile) {
  Sizes all = matrix(17, 200, 333);
  Tensors whole = make_tensors(all, 11);
  run(all, whole);
  for (int64_t first : {0, 1, 31, 100}) {
    Sizes part = all;
    part.n = 57;
    Tensors t = make_tensors(part, 11);
    GemmProblem p = problem_of(part, t);
    p.a.data = whole.a.data();
    p.b.data = whole.b.data() + first * 333 * 4;
    ThreadPool pool(1);
    PoisonedScratch scratch(gemm_scratch_bytes(17, 57, 333, 1));
    gemm(p, scratch.data(), pool);
    for (int64_t m = 0; m < 17; ++m) {
      ASSERT_EQ(std::memcmp(t.out.data() + m * 57 * 4, whole.out.data() + (m * 200 + first) * 4, 57 * 4), 0);
    }
  }
}

TEST(Gemm, ABatchOfPicturesHasTheBitsOfEachAlone) {
  Sizes three;
  three.batch = 3;
  three.in_h = 7;
  three.in_w = 5;
  three.channels = 45;
  three.n = 50;
  three.kh = three.kw = 3;
  three.pad_top = three.pad_left = three.pad_bottom = three.pad_right = 1;
  Tensors whole = make_tensors(three, 13);
  run(three, whole);
  const int64_t in_bytes = 7 * 5 * 45 * 4;
  const int64_t out_bytes = 7 * 5 * 50 * 4;
  for (int64_t b = 0; b < 3; ++b) {
    Sizes one = three;
    one.batch = 1;
    Tensors t = make_tensors(one, 13);
    GemmProblem p = problem_of(one, t);
    p.a.data = whole.a.data() + b * in_bytes;
    p.b.data = whole.b.data();
    ThreadPool pool(2);
    PoisonedScratch scratch(gemm_scratch_bytes(p.m(), one.n, one.k(), 2));
    gemm(p, scratch.data(), pool);
    ASSERT_EQ(std::memcmp(t.out.data(), whole.out.data() + b * out_bytes, static_cast<size_t>(out_bytes)), 0);
  }
}

TEST(Gemm, TheResidualMayBeTheOutput) {
  Sizes s = matrix(30, 70, 40);
  s.residual = true;
  Tensors apart = make_tensors(s, 15);
  run(s, apart);
  Tensors together = make_tensors(s, 15);
  together.out.bytes = together.residual.bytes;
  GemmProblem p = problem_of(s, together);
  p.residual = together.out.data();
  ThreadPool pool(1);
  PoisonedScratch scratch(gemm_scratch_bytes(30, 70, 40, 1));
  gemm(p, scratch.data(), pool);
  ASSERT_EQ(apart.out.bytes, together.out.bytes);
}

// Wide groups of B fit in fewer rows' cut: scratch for all rows is not enough for each number of them.
TEST(Gemm, ScratchOfUpToSomeRowsIsEnoughForEachNumberOfThem) {
  constexpr int64_t kRows = 500, kColumns = 1024, kDepth = 14336;
  EXPECT_GT(gemm_scratch_bytes(97, kColumns, kDepth, 2), gemm_scratch_bytes(kRows, kColumns, kDepth, 2));
  GemmProblem p;
  p.n = kColumns;
  p.b.n_stride = kDepth;
  for (const DType dtype : {DType::f32, DType::q8_0}) {
    p.b.dtype = dtype;
    p.a = gemm_matrix(nullptr, DType::f32, kRows, kDepth, kDepth, 1);
    const size_t enough = gemm_scratch_bytes_up_to(kRows, p, 2, false);
    for (int64_t m = 1; m <= kRows; ++m) {
      p.a = gemm_matrix(nullptr, DType::f32, m, kDepth, kDepth, 1);
      ASSERT_LE(gemm_scratch_bytes(m, kColumns, kDepth, 2, gemm_reads_blocks(p)), enough) << m;
    }
  }
}

TEST(Gemm, StopsWhenCancelled) {
  Sizes s = matrix(10, 20, 30);
  Tensors t = make_tensors(s, 17);
  const Tensors untouched = t;
  const std::atomic<bool> cancel{true};
  ThreadPool pool(2);
  PoisonedScratch scratch(gemm_scratch_bytes(10, 20, 30, 2));
  gemm(problem_of(s, t), scratch.data(), pool, &cancel);
  EXPECT_EQ(t.out.bytes, untouched.out.bytes);
}

}  // namespace
}  // namespace chiaro
