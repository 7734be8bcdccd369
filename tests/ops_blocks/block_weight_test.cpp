// Weights of every block type in matmul, conv2d and get_rows, against double loops over the decoded weights. Case 26:
// small and odd M, a weight shared by a batch, rows that are views; and what must be refused. Case 31: activations that
// half precision cannot hold.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "block_fixtures.h"
#include "core/block_formats.h"
#include "ops/conv2d/op.h"
#include "ops/cpu_kernel.h"
#include "ops/get_rows/op.h"
#include "ops/matmul/op.h"

namespace chiaro {
namespace {

using blocks_test::PoisonedScratch;

std::vector<DType> block_types() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (is_block(static_cast<DType>(i))) all.push_back(static_cast<DType>(i));
  }
  return all;
}

struct Dense {
  TensorDesc desc;
  std::vector<std::byte> bytes;
  std::vector<float> values() const {
    std::vector<float> out(static_cast<size_t>(desc.count()));
    decode_blocks(desc.dtype, bytes.data(), 0, desc.count(), out.data());
    return out;
  }
};

Dense random_dense(DType dtype, const Shape& shape, uint32_t seed, float range = 1.0f) {
  Dense t{dense(dtype, shape), {}};
  t.bytes.resize(static_cast<size_t>(t.desc.dense_bytes()));
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> draw(-range, range);
  std::vector<float> values(static_cast<size_t>(t.desc.count()));
  for (float& v : values) v = draw(rng);
  encode_blocks(dtype, values.data(), t.desc.count(), t.bytes.data());
  return t;
}

struct In {
  TensorDesc desc;
  const std::byte* data;
};
In in(const Dense& t) {
  return {t.desc, t.bytes.data()};
}

// Runs a plan, with the input that it wants packed in that form.
Result<Dense> run_plan(const KernelPlan& plan, std::vector<const std::byte*> pointers, const TensorDesc& out,
                       int threads) {
  ThreadPool pool(threads);
  std::vector<std::byte> packed;
  if (const PackedInput& wants = plan.packed(); wants.input >= 0) {
    packed.assign(static_cast<size_t>(wants.bytes), std::byte{0xFF});
    const std::byte*& source = pointers[static_cast<size_t>(wants.input)];
    CHIARO_TRY(plan.pack(source, packed.data(), pool, nullptr));
    source = packed.data();
  }
  PoisonedScratch scratch(static_cast<size_t>(plan.scratch_bytes()));
  Dense y{out, std::vector<std::byte>(static_cast<size_t>(out.dense_bytes()), std::byte{0xFF})};
  CpuRun context;
  context.inputs = pointers;
  context.output = y.bytes.data();
  context.scratch = scratch.data();
  context.pool = &pool;
  CHIARO_TRY(plan.run(context));
  EXPECT_TRUE(scratch.guard_intact());
  return y;
}

// Infers, plans and runs the CPU kernel of O, with inputs that change from run to run and with constant ones, which may
// be packed once: the same bits.
template <class O>
Result<Dense> run(const typename O::Attrs& attrs, const std::vector<In>& inputs, int threads = 2) {
  std::vector<Operand> operands;
  std::vector<const TensorDesc*> descs;
  std::vector<const std::byte*> pointers;
  for (const In& x : inputs) {
    operands.push_back({x.desc, 1, true});
    descs.push_back(&x.desc);
    pointers.push_back(x.data);
  }
  CHIARO_ASSIGN(const TensorDesc out, O::infer(attrs, descs));
  const AttrMap map = encode_attrs(attrs);
  for (const Kernels& kernels : cpu_kernel_table()) {
    if (kernels.empty() || kernels[0].op != O::name) continue;
    DeviceTraits traits;
    traits.threads = threads;
    std::vector<Dense> results;
    for (const bool constant : {false, true}) {
      for (Operand& operand : operands) operand.constant = constant;
      const Call call{&op_def<O>(), &map, operands, {out, 1, true}};
      auto chosen = kernels[0].plan(call, traits);
      for (size_t i = 1; i < kernels.size() && !chosen.ok(); ++i) chosen = kernels[i].plan(call, traits);
      CHIARO_ASSIGN(const KernelPlan plan, std::move(chosen));
      CHIARO_ASSIGN(Dense y, run_plan(plan, pointers, out, threads));
      results.push_back(std::move(y));
    }
    EXPECT_EQ(results[0].bytes, results[1].bytes) << O::name << " " << inputs[1].desc.text();
    return results[1];
  }
  return Error{ErrorCode::internal, "no kernel", "", "", ""};
}

// y[m, n] = sum_k x[m, k] w[n, k] in double; tolerance 4 eps(f32) sqrt(K) of the magnitudes summed.
void expect_product(const Dense& y, const std::vector<float>& x, const std::vector<float>& w, int64_t k, int64_t n,
                    const std::string& what) {
  const std::vector<float> got = y.values();
  const double eps = std::max(epsilon(y.desc.dtype), 0x1p-24 * std::sqrt(static_cast<double>(k)));
  for (size_t i = 0; i < got.size(); ++i) {
    const size_t row = i / static_cast<size_t>(n) * static_cast<size_t>(k);
    const size_t column = i % static_cast<size_t>(n) * static_cast<size_t>(k);
    double sum = 0, magnitude = 1e-30;
    for (size_t j = 0; j < static_cast<size_t>(k); ++j) {
      sum += double{x[row + j]} * w[column + j];
      magnitude += std::fabs(double{x[row + j]} * w[column + j]);
    }
    ASSERT_LE(std::fabs(got[i] - sum), 4 * eps * magnitude) << what << " at " << i << ": " << got[i] << " for " << sum;
  }
}

TEST(BlockWeight, MatmulOfEveryTypeWithSmallAndOddRowsAndABatchThatSharesTheWeight) {
  for (const DType dtype : block_types()) {
    for (const int64_t k : {32, 64, 256, 288, 512}) {
      if (k % traits(dtype).block_elements != 0) continue;
      const Dense w = random_dense(dtype, {64, k}, static_cast<uint32_t>(k));
      for (const int64_t m : {1, 2, 7, 8, 9, 32, 33}) {
        const std::string what = std::string(dtype_name(dtype)) + " m=" + std::to_string(m) + " k=" + std::to_string(k);
        const Dense x = random_dense(m % 2 == 0 ? DType::f16 : DType::f32, {3, m, k}, static_cast<uint32_t>(m));
        const auto y = run<Matmul>({}, {in(x), in(w)});
        ASSERT_TRUE(y.ok()) << what << y.error().format();
        ASSERT_EQ(y->desc.shape, (Shape{3, m, 64}));
        expect_product(*y, x.values(), w.values(), k, 64, what);
      }
    }
  }
}

TEST(BlockWeight, MatmulOfFewColumnsOddColumnsAndAWeightForEachPicture) {
  for (const DType dtype : block_types()) {
    for (const int64_t n : {1, 3, 4, 5, 31, 33, 65}) {
      const Dense w = random_dense(dtype, {n, 256}, 5), x = random_dense(DType::f32, {2, 5, 256}, 6);
      const auto y = run<Matmul>({}, {in(x), in(w)});
      ASSERT_TRUE(y.ok()) << y.error().format();
      expect_product(*y, x.values(), w.values(), 256, n, std::string(dtype_name(dtype)) + " n=" + std::to_string(n));
    }
    const Dense w = random_dense(dtype, {2, 33, 256}, 7), x = random_dense(DType::f32, {2, 5, 256}, 8);
    const auto y = run<Matmul>({}, {in(x), in(w)});
    ASSERT_TRUE(y.ok()) << y.error().format();
    const std::vector<float> xs = x.values(), ws = w.values();
    for (size_t b = 0; b < 2; ++b) {  // one product each
      Dense part{dense(DType::f32, {5, 33}), {}};
      const auto bytes = static_cast<std::ptrdiff_t>(part.desc.dense_bytes());
      const auto start = y->bytes.begin() + static_cast<std::ptrdiff_t>(b) * bytes;
      part.bytes.assign(start, start + bytes);
      expect_product(part, std::vector<float>(xs.begin() + b * 5 * 256, xs.begin() + (b + 1) * 5 * 256),
                     std::vector<float>(ws.begin() + b * 33 * 256, ws.begin() + (b + 1) * 33 * 256), 256, 33, "batch");
    }
  }
}

TEST(BlockWeight, RowsOfAWeightAreAView) {
  for (const DType dtype : block_types()) {
    const Dense w = random_dense(dtype, {12, 512}, 9), x = random_dense(DType::f32, {7, 512}, 10);
    // Rows 1, 3, 5, 7, 9.
    TensorDesc view = w.desc;
    view.shape[0] = 5;
    view.strides[0] *= 2;
    const auto y = run<Matmul>({}, {in(x), {view, w.bytes.data() + w.desc.dense_bytes() / 12}});
    ASSERT_TRUE(y.ok()) << y.error().format();
    std::vector<float> rows, all = w.values();
    for (size_t r = 1; r < 10; r += 2) rows.insert(rows.end(), all.begin() + r * 512, all.begin() + (r + 1) * 512);
    expect_product(*y, x.values(), rows, 512, 5, std::string(dtype_name(dtype)));
  }
}

TEST(BlockWeight, TheBitsDependNeitherOnThreadsNorOnTheOtherRows) {
  for (const DType dtype : block_types()) {
    const Dense w = random_dense(dtype, {96, 768}, 11), x = random_dense(DType::f32, {33, 768}, 12);
    const auto all = run<Matmul>({}, {in(x), in(w)}, 1);
    ASSERT_TRUE(all.ok());
    for (const int threads : {2, 3}) {
      const auto again = run<Matmul>({}, {in(x), in(w)}, threads);
      ASSERT_TRUE(again.ok());
      EXPECT_EQ(again->bytes, all->bytes);
    }
    const auto last = run<Matmul>({}, {{dense(DType::f32, {1, 768}), x.bytes.data() + 32 * 768 * 4}, in(w)});
    ASSERT_TRUE(last.ok());
    EXPECT_EQ(last->bytes, std::vector<std::byte>(all->bytes.end() - 96 * 4, all->bytes.end())) << dtype_name(dtype);
  }
}

TEST(BlockWeight, MatmulRefusesWhatIsNotWholeBlocksAlongK) {
  const Dense x = random_dense(DType::f32, {2, 320}, 13);
  const TensorDesc wide = dense(DType::q4_k, {8, 320});
  const auto refused = run<Matmul>({}, {in(x), {wide, nullptr}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().format().find("320"), std::string::npos);
  EXPECT_NE(refused.error().format().find("256"), std::string::npos);
  const Dense w = random_dense(DType::q8_0, {320, 64}, 14);
  const auto turned = run<Matmul>({.transpose_b = false}, {in(x), in(w)});
  ASSERT_FALSE(turned.ok());
  EXPECT_NE(turned.error().format().find("transpose_b=true"), std::string::npos);
  // A view that begins within a block, and a block type where only plain types fit.
  const Dense rows = random_dense(DType::q8_0, {4, 320}, 15);
  TensorDesc odd = rows.desc;
  odd.strides[0] = 330;
  odd.shape[0] = 2;
  EXPECT_FALSE(run<Matmul>({}, {in(x), {odd, rows.bytes.data()}}).ok());
  EXPECT_FALSE(run<Matmul>({}, {in(rows), in(rows)}).ok());
}

TEST(BlockWeight, ActivationsThatHalfPrecisionCannotHoldStayFinite) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::q8_0, DType::q4_k}) {
    const Dense w = random_dense(dtype, {64, 256}, 16, 1e-3f);
    for (const int64_t m : {1, 63, 64, 65}) {
      Dense x = random_dense(DType::f32, {m, 256}, 17);
      for (int64_t i = 0; i < 256; ++i) store_element(DType::f32, x.bytes.data(), i, i == 5 ? 1e5 : i < 64 ? 3000 : 1);
      const auto y = run<Matmul>({}, {in(x), in(w)});
      ASSERT_TRUE(y.ok()) << y.error().format();
      for (const float v : y->values()) ASSERT_TRUE(std::isfinite(v));
      expect_product(*y, x.values(), w.values(), 256, 64, std::string(dtype_name(dtype)) + std::to_string(m));
    }
  }
}

TEST(BlockWeight, ConvolutionOfBlocksThatDoNotEndWithRows) {
  for (const DType dtype : block_types()) {
    const Dense w = random_dense(dtype, {64, 4, 3, 3}, 18), x = random_dense(DType::f32, {2, 5, 6, 4}, 19);
    const auto y = run<Conv2d>({.pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1}, {in(x), in(w)});
    ASSERT_TRUE(y.ok()) << y.error().format();
    // Windows as rows, columns in the order of the weight: c, ky, kx.
    const std::vector<float> pixels = x.values();
    std::vector<float> windows;
    for (int64_t at = 0; at < 2 * 5 * 6; ++at) {
      for (int64_t i = 0; i < 4 * 9; ++i) {
        const int64_t row = at / 6 % 5 + i % 9 / 3 - 1, column = at % 6 + i % 3 - 1;
        const bool inside = row >= 0 && row < 5 && column >= 0 && column < 6;
        windows.push_back(inside ? pixels[static_cast<size_t>(((at / 30 * 5 + row) * 6 + column) * 4 + i / 9)] : 0.0f);
      }
    }
    expect_product(*y, windows, w.values(), 36, 64, std::string(dtype_name(dtype)));
  }
  const Dense x = random_dense(DType::f32, {1, 5, 6, 3}, 20);
  EXPECT_FALSE(run<Conv2d>({}, {in(x), {dense(DType::q8_0, {3, 3, 3, 3}), nullptr}}).ok());
}

// A convolution with `channels` in and `n` out, against the decoded weights in f32.
void expect_convolution_of_decoded(DType dtype, int64_t side, int64_t channels, int64_t n) {
  const Dense w = random_dense(dtype, {n, channels, 3, 3}, 22);
  const Dense x = random_dense(DType::f32, {1, side, side, channels}, 23);
  Dense plain{dense(DType::f32, w.desc.shape), {}};
  plain.bytes.resize(static_cast<size_t>(plain.desc.dense_bytes()));
  const std::vector<float> values = w.values();
  std::memcpy(plain.bytes.data(), values.data(), plain.bytes.size());
  const Conv2d::Attrs attrs{.pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1};
  const auto want = run<Conv2d>(attrs, {in(x), in(plain)}), got = run<Conv2d>(attrs, {in(x), in(w)});
  ASSERT_TRUE(want.ok() && got.ok()) << got.error().format();
  EXPECT_EQ(want->bytes, got->bytes) << dtype_name(dtype) << " " << side << " " << channels;
}

// Rows of whole blocks are packed, for the direct kernel and for Winograd's, by tiles and by columns, alike.
TEST(BlockWeight, ConvolutionsOfWholeBlocks) {
  for (const DType dtype : block_types()) {
    const int64_t block = traits(dtype).block_elements;
    expect_convolution_of_decoded(dtype, 6, block, 72);
    expect_convolution_of_decoded(dtype, 24, std::max<int64_t>(64, block), 72);
  }
  // Blocks of 144 channels in the sum: they begin within a block.
  expect_convolution_of_decoded(DType::q8_0, 24, 288, 96);
  expect_convolution_of_decoded(DType::q8_0, 24, 288, 224);
}

TEST(BlockWeight, GetRowsDecodesWholeRows) {
  for (const DType dtype : block_types()) {
    const Dense table = random_dense(dtype, {5, 1280}, 21);
    Dense ids{dense(DType::i32, {3}), std::vector<std::byte>(12)};
    const std::vector<int32_t> rows{4, 0, 3};
    std::memcpy(ids.bytes.data(), rows.data(), 12);
    const auto y = run<GetRows>({}, {in(table), in(ids)});
    ASSERT_TRUE(y.ok()) << y.error().format();
    const std::vector<float> all = table.values(), got = y->values();
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], all[static_cast<size_t>(rows[i / 1280]) * 1280 + i % 1280]) << dtype_name(dtype);
    }
  }
  EXPECT_FALSE(run<GetRows>({}, {{dense(DType::q4_k, {5, 320}), nullptr}, {dense(DType::i32, {1}), nullptr}}).ok());
}

}  // namespace
}  // namespace chiaro
