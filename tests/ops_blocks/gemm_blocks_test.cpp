// The packed matrix product with weights in block formats: the bits of the same product with what they decode to.
#include <random>

#include "core/block_formats.h"
#include "gemm_fixtures.h"

namespace chiaro {
namespace {

using blocks_test::PoisonedScratch;
using namespace gemm_test;

// The product with B as blocks, packed where it may be, or read at the call.
Tensors run_blocks(const Sizes& s, DType dtype, const std::vector<std::byte>& blocks, bool packs) {
  Tensors t = make_tensors(s, 6);
  GemmProblem p = problem_of(s, t);
  p.b.dtype = dtype;
  p.b.data = blocks.data();
  p.b.n_stride = s.k();
  ThreadPool pool(s.threads);
  std::vector<std::byte> packed(packs ? gemm_packed_b_bytes(p) : 0, std::byte{0xFF});
  if (packs) {
    EXPECT_TRUE(gemm_packs(p));
    gemm_pack_b(p, packed.data(), pool);
    p.b.packed = packed.data();
    p.b.data = nullptr;
  }
  PoisonedScratch scratch(gemm_scratch_bytes(p.m(), s.n, s.k(), s.threads, packs && gemm_reads_packed(p)));
  gemm(p, scratch.data(), pool);
  EXPECT_TRUE(scratch.guard_intact());
  return t;
}

// B as blocks, and as f32 of what the blocks decode to, which must give the same bits.
void expect_bits_of_decoded(const Sizes& s, DType dtype, bool packs = true) {
  Tensors plain = make_tensors(s, 6);
  const int64_t elements = s.n * s.k();
  auto* numbers = reinterpret_cast<float*>(plain.b.data());
  std::vector<std::byte> blocks(static_cast<size_t>(elements / traits(dtype).block_elements * unit_bytes(dtype)));
  encode_blocks(dtype, numbers, elements, blocks.data());
  decode_blocks(dtype, blocks.data(), 0, elements, numbers);
  run(s, plain);
  for (const bool packed : {false, true}) {
    if (packed && !packs) continue;
    ASSERT_EQ(plain.out.bytes, run_blocks(s, dtype, blocks, packed).out.bytes)
        << dtype_name(dtype) << " m=" << plain.out.desc.shape[2] << " n=" << s.n << " k=" << s.k() << " packed "
        << packed;
  }
}

std::vector<DType> block_types() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (is_block(static_cast<DType>(i))) all.push_back(static_cast<DType>(i));
  }
  return all;
}

// Few rows, multiplied as codes are decoded; more, by panels in the cache; more than one chunk of them. Columns that
// fill panels, that end in half of one and that are one panel short of two; blocks of k that end within a super-block.
void expect_bits_of_every_type(const std::vector<int64_t>& rows) {
  for (const DType dtype : block_types()) {
    for (const int64_t m : rows) {
      expect_bits_of_decoded(matrix(m, 37, 768), dtype);
      expect_bits_of_decoded(matrix(m, 5, 512), dtype);
      if (m <= 2) expect_bits_of_decoded(matrix(m, 96, 512), dtype);
    }
    if (traits(dtype).block_elements == 32) expect_bits_of_decoded(matrix(rows.back(), 33, 352), dtype);
    if (dtype == DType::nvfp4) expect_bits_of_decoded(matrix(rows.back(), 33, 320 + 64), dtype);
  }
}

TEST(GemmBlocks, BlocksGiveTheBitsOfWhatTheyDecodeTo) {
  expect_bits_of_every_type({1, 2, 3, 4, 5, 8, 9, 12, 97});
  for (const DType dtype : block_types()) {
    Sizes threads = matrix(1, 165, 512);
    threads.threads = 3;
    expect_bits_of_decoded(threads, dtype);
    expect_bits_of_decoded(matrix(7, 3, 512), dtype);  // so few columns that they are kept as f32
  }
}

TEST(GemmBlocks, BlocksOnOtherInstructionSets) {
  on_each_instruction_set([] { expect_bits_of_every_type({1, 2, 4, 7, 97}); });
}

// Any bytes are blocks: scales of every size, negative ones, zeros, subnormals, infinities, NaN, and all codes. What a
// product with the unit vector of step k gives is step k of every column.
void expect_every_step_of_any_bytes(DType dtype) {
  const int64_t n = 70, k = std::max<int64_t>(512, traits(dtype).block_elements);
  std::vector<std::byte> blocks(static_cast<size_t>(n * k / traits(dtype).block_elements * unit_bytes(dtype)));
  std::mt19937 rng(static_cast<uint32_t>(dtype));
  for (std::byte& b : blocks) b = static_cast<std::byte>(rng());
  std::vector<float> want(static_cast<size_t>(n * k));
  decode_blocks(dtype, blocks.data(), 0, n * k, want.data());
  GemmProblem p;
  p.n = n;
  p.b = {blocks.data(), dtype, k, 1, 0, 0, nullptr};
  p.a = gemm_matrix(nullptr, DType::f32, 1, k, k, 1);
  ThreadPool pool(1);
  std::vector<std::byte> packed(gemm_packed_b_bytes(p));
  gemm_pack_b(p, packed.data(), pool);
  p.b.packed = packed.data();
  for (const int64_t m : {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{8}, k}) {  // as few rows, and all at once
    std::vector<float> a(static_cast<size_t>(m * k)), out(static_cast<size_t>(m * n));
    const int64_t first = m == k ? 0 : 31 * m;
    for (int64_t r = 0; r < m; ++r) a[static_cast<size_t>(r * k + first + r)] = 1;
    p.a = gemm_matrix(a.data(), DType::f32, m, k, k, 1);
    p.out = out.data();
    p.out_map = {DType::f32, 0, 0, n, 1};
    PoisonedScratch scratch(gemm_scratch_bytes(m, n, k, 1, true));
    gemm(p, scratch.data(), pool);
    for (int64_t i = 0; i < m * n; ++i) {
      const int64_t column = i % n, step = first + i / n;
      bool finite = true;  // else the others' zeros are not
      for (int64_t j = 0; j < k; ++j) finite = finite && std::isfinite(want[static_cast<size_t>(column * k + j)]);
      const float got = out[static_cast<size_t>(i)], wanted = want[static_cast<size_t>(column * k + step)];
      ASSERT_TRUE(finite ? got == wanted : std::isnan(got)) << dtype_name(dtype) << " m=" << m << " column " << column
                                                            << " step " << step << ": " << got << " for " << wanted;
    }
  }
}

TEST(GemmBlocks, PackedBlocksOfAnyBytesDecodeToTheNumbersOfDecodeBlocks) {
  on_each_instruction_set([] {
    for (const DType dtype : block_types()) expect_every_step_of_any_bytes(dtype);
  });
}

TEST(GemmBlocks, PackedBlocksTakeTheBytesOfTheFile) {
  for (const DType dtype : block_types()) {
    GemmProblem p;
    p.n = 320;
    p.b.dtype = dtype;
    p.b.n_stride = 2304;
    p.a = gemm_matrix(nullptr, DType::f32, 1, 2304, 2304, 1);
    EXPECT_EQ(gemm_packed_b_bytes(p), static_cast<size_t>(dense(dtype, {320, 2304}).dense_bytes()))
        << dtype_name(dtype);
    p.n = 321;
    EXPECT_EQ(gemm_packed_b_bytes(p), static_cast<size_t>(dense(dtype, {336, 2304}).dense_bytes()))
        << dtype_name(dtype);
  }
}

TEST(GemmBlocks, BlocksThatDoNotEndWithRowsGiveTheBitsOfWhatTheyDecodeTo) {
  Sizes s;
  s.in_h = s.in_w = 6;
  s.channels = 36;
  s.n = 24;
  s.kh = s.kw = 3;
  expect_bits_of_decoded(s, DType::q8_0, false);
  expect_bits_of_decoded(s, DType::q5_1, false);
}

// Rows of whole blocks in the order (c, ky, kx), packed so, read in the order (ky, kx, c).
TEST(GemmBlocks, PackedBlocksOfWindowsGiveTheBitsOfWhatTheyDecodeTo) {
  for (const DType dtype : block_types()) {
    Sizes s;
    s.in_h = s.in_w = 5;
    s.channels = traits(dtype).block_elements;
    s.n = 39;
    s.kh = s.kw = 3;
    s.pad_top = s.pad_bottom = s.pad_left = s.pad_right = 1;
    expect_bits_of_decoded(s, dtype);
    s.in_h = s.in_w = 2;  // four rows
    expect_bits_of_decoded(s, dtype);
  }
}

}  // namespace
}  // namespace chiaro
