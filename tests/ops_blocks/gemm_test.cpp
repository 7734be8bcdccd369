// The packed matrix product against double loops, and the promises on bits: batch, threads, tiles, packed weights.
#include "gemm_fixtures.h"

namespace chiaro {
namespace {

using blocks_test::PoisonedScratch;
using namespace gemm_test;

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

// Plain types in few rows: converted in registers. 160 columns are an odd number of panels.
TEST(Gemm, FewRowsOfPackedPlainTypesOnOtherInstructionSets) {
  on_each_instruction_set([] {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8}) {
      for (const int64_t m : {1, 2, 3, 5, 8}) {
        Sizes s = matrix(m, m == 1 ? 160 : 37, 700);
        s.b_type = dtype;
        s.bias = s.packed = true;
        check(s, 8);
        Sizes more = matrix(13, s.n, 700);
        more.b_type = dtype;
        more.bias = more.packed = true;
        Tensors few = make_tensors(s, 8), many = make_tensors(more, 8);
        run(s, few);
        many.b = few.b;
        many.bias = few.bias;
        std::memcpy(many.a.data(), few.a.data(), static_cast<size_t>(m * 700 * 4));
        run(more, many);
        ASSERT_EQ(std::memcmp(few.out.data(), many.out.data(), static_cast<size_t>(m * s.n * 4)), 0) << m;
      }
    }
  });
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
      ASSERT_LE(gemm_scratch_bytes(m, kColumns, kDepth, 2), enough) << m;
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
