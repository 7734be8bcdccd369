// Flash attention against double loops; masks, lengths, and the promises on bits.
#include "ops/cpu_blocks/attention_block.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <limits>

#include "block_fixtures.h"

namespace chiaro {
namespace {

using blocks_test::make_strided;
using blocks_test::PoisonedScratch;
using blocks_test::random_strided;
using blocks_test::Strided;

struct Sizes {
  int64_t batch = 1, heads = 1, kv_heads = 1, lq = 1, lk = 1, d = 8;
  DType type = DType::f32;
  std::vector<int> order{0, 1, 2, 3};
  int64_t gap = 1;
  bool bias = false, causal = false;
  std::vector<int32_t> lengths;
  double range = 1;
  int threads = 1;
};

struct Tensors {
  Strided q, k, v, bias, out;
};

Tensors make_tensors(const Sizes& s, uint32_t seed) {
  Tensors t;
  t.q = random_strided(s.type, {s.batch, s.lq, s.heads, s.d}, s.order, s.gap, seed, s.range);
  t.k = random_strided(s.type, {s.batch, s.lk, s.kv_heads, s.d}, s.order, s.gap, seed + 1, s.range);
  t.v = random_strided(s.type, {s.batch, s.lk, s.kv_heads, s.d}, s.order, s.gap, seed + 2);
  t.bias = random_strided(s.type, {s.batch, s.heads, s.lq, s.lk}, {0, 1, 2, 3}, 1, seed + 3, 2);
  t.out = make_strided(s.type, {s.batch, s.lq, s.heads, s.d}, s.order, s.gap);
  return t;
}

AttentionTensor tensor_of(const Strided& t) {
  const auto& st = t.desc.strides;
  return {t.data(), t.desc.dtype, st[0], st[1], st[2], st[3]};
}

AttentionProblem problem_of(const Sizes& s, Tensors& t) {
  AttentionProblem p;
  p.batch = s.batch;
  p.heads = s.heads;
  p.kv_heads = s.kv_heads;
  p.lq = s.lq;
  p.lk = s.lk;
  p.d = s.d;
  p.q = tensor_of(t.q);
  p.k = tensor_of(t.k);
  p.v = tensor_of(t.v);
  if (s.bias) p.bias = t.bias.data();
  p.bias_dtype = s.type;
  p.bias_batch = t.bias.desc.strides[0];
  p.bias_head = t.bias.desc.strides[1];
  p.bias_row = t.bias.desc.strides[2];
  p.bias_key = t.bias.desc.strides[3];
  if (!s.lengths.empty()) p.key_lengths = s.lengths.data();
  p.scale = 1.0f / std::sqrt(static_cast<float>(s.d));
  p.causal = s.causal;
  p.out = t.out.data();
  p.out_map = tensor_of(t.out);
  return p;
}

void run(const AttentionProblem& p, int threads) {
  ThreadPool pool(threads);
  PoisonedScratch scratch(attention_scratch_bytes(p, threads));
  attention_block(p, scratch.data(), pool);
  ASSERT_TRUE(scratch.guard_intact());
}

// One row in double; `want` gets d values.
void exact_row(const Sizes& s, const Tensors& t, const AttentionProblem& p, int64_t b, int64_t h, int64_t i,
               std::vector<double>& want) {
  const auto& qs = t.q.desc.strides;
  const auto& ks = t.k.desc.strides;
  const int64_t g = h / (s.heads / s.kv_heads);
  int64_t end = s.lengths.empty() ? s.lk : std::clamp<int64_t>(s.lengths[static_cast<size_t>(b)], 0, s.lk);
  if (s.causal) end = std::min(end, i + 1);
  std::vector<double> scores(static_cast<size_t>(end));
  double peak = -std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < end; ++j) {
    double dot = 0;
    for (int64_t c = 0; c < s.d; ++c) {
      dot +=
          t.q.at(b * qs[0] + i * qs[1] + h * qs[2] + c * qs[3]) * t.k.at(b * ks[0] + j * ks[1] + g * ks[2] + c * ks[3]);
    }
    dot *= static_cast<double>(p.scale);
    if (s.bias) dot += t.bias.at(b * p.bias_batch + h * p.bias_head + i * p.bias_row + j * p.bias_key);
    scores[static_cast<size_t>(j)] = dot;
    peak = std::max(peak, dot);
  }
  want.assign(static_cast<size_t>(s.d), 0.0);
  if (end == 0 || std::isinf(peak)) return;
  double total = 0;
  for (double score : scores) total += std::exp(score - peak);
  for (int64_t j = 0; j < end; ++j) {
    const double weight = std::exp(scores[static_cast<size_t>(j)] - peak) / total;
    if (weight == 0) continue;
    for (int64_t c = 0; c < s.d; ++c) {
      want[static_cast<size_t>(c)] += weight * t.v.at(b * ks[0] + j * ks[1] + g * ks[2] + c * ks[3]);
    }
  }
}

void check_against_double(const Sizes& s, Tensors& t, const AttentionProblem& p) {
  const auto& os = t.out.desc.strides;
  std::vector<double> want;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t i = 0; i < s.lq; ++i) {
        exact_row(s, t, p, b, h, i, want);
        for (int64_t c = 0; c < s.d; ++c) {
          const double got = t.out.at(b * os[0] + i * os[1] + h * os[2] + c * os[3]);
          const double exact = want[static_cast<size_t>(c)];
          ASSERT_NEAR(got, exact, 4e-6 * s.range * s.range + 2 * epsilon(s.type) * std::fabs(exact) + 1e-7)
              << "b " << b << " h " << h << " i " << i << " c " << c << " lk " << s.lk << " d " << s.d;
        }
      }
    }
  }
}

void check(const Sizes& s, uint32_t seed = 1) {
  Tensors t = make_tensors(s, seed);
  const AttentionProblem p = problem_of(s, t);
  run(p, s.threads);
  check_against_double(s, t, p);
}

TEST(Attention, OddSizes) {
  for (int64_t lq : {1, 2, 7, 33, 195}) {
    for (int64_t lk : {1, 3, 17, 77, 255, 257, 600}) {
      for (int64_t d : {1, 3, 40, 64}) {
        Sizes s;
        s.lq = lq;
        s.lk = lk;
        s.d = d;
        check(s);
      }
    }
  }
}

TEST(Attention, EveryHeadSize) {
  for (int64_t d : {2, 5, 8, 16, 31, 33, 65, 80, 96, 128, 160, 256, 320, 321, 512, 700}) {
    Sizes s;
    s.lq = 9;
    s.lk = 30;
    s.d = d;
    s.range = 2;
    check(s);
  }
}

TEST(Attention, BatchesHeadsAndGroups) {
  for (int64_t kv_heads : {1, 2, 6}) {
    for (bool bias : {false, true}) {
      for (bool causal : {false, true}) {
        Sizes s;
        s.batch = 2;
        s.heads = 6;
        s.kv_heads = kv_heads;
        s.lq = 40;
        s.lk = 45;
        s.d = 24;
        s.bias = bias;
        s.causal = causal;
        s.threads = 2;
        check(s);
      }
    }
  }
}

TEST(Attention, CausalOverSeveralBlocks) {
  Sizes s;
  s.lq = s.lk = 530;
  s.d = 16;
  s.causal = true;
  check(s);
}

TEST(Attention, DtypesAndStrides) {
  for (DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::vector<int>& order : {std::vector<int>{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 2, 3, 1}, {3, 2, 1, 0}}) {
      for (int64_t gap : {1, 2}) {
        Sizes s;
        s.batch = 2;
        s.heads = s.kv_heads = 3;
        s.lq = 21;
        s.lk = 35;
        s.d = 20;
        s.type = type;
        s.order = order;
        s.gap = gap;
        s.bias = true;
        check(s);
      }
    }
  }
}

TEST(Attention, ABiasMayBeBroadcast) {
  Sizes s;
  s.batch = 2;
  s.heads = s.kv_heads = 2;
  s.lq = 10;
  s.lk = 300;
  s.bias = true;
  for (int keep = 0; keep < 16; ++keep) {
    Tensors t = make_tensors(s, 3);
    AttentionProblem p = problem_of(s, t);
    if ((keep & 1) == 0) p.bias_batch = 0;
    if ((keep & 2) == 0) p.bias_head = 0;
    if ((keep & 4) == 0) p.bias_row = 0;
    if ((keep & 8) == 0) p.bias_key = 0;
    run(p, 1);
    check_against_double(s, t, p);
  }
}

TEST(Attention, LargeScoresDoNotOverflow) {
  Sizes s;
  s.lq = 5;
  s.lk = 400;
  s.d = 8;
  s.range = 40;
  check(s);
}

// Padding that holds 1e4 or NaN changes nothing, not a bit.
TEST(Attention, PaddedKeysAreNeverRead) {
  Sizes s;
  s.batch = 3;
  s.heads = s.kv_heads = 2;
  s.lq = 20;
  s.lk = 330;
  s.d = 16;
  s.lengths = {0, 77, 300};
  Tensors clean = make_tensors(s, 4);
  const AttentionProblem p = problem_of(s, clean);
  run(p, 1);
  check_against_double(s, clean, p);
  for (double garbage : {1e4, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    Tensors dirty = make_tensors(s, 4);
    for (Strided* t : {&dirty.k, &dirty.v}) {
      for (int64_t b = 0; b < s.batch; ++b) {
        const int64_t row = s.heads * s.d;
        for (int64_t e = s.lengths[static_cast<size_t>(b)] * row; e < s.lk * row; ++e) {
          store_element(DType::f32, t->data(), b * s.lk * row + e, garbage);
        }
      }
    }
    run(problem_of(s, dirty), 1);
    ASSERT_EQ(clean.out.bytes, dirty.out.bytes) << garbage;
  }
}

TEST(Attention, AFullyMaskedRowIsZero) {
  Sizes s;
  s.lq = 4;
  s.lk = 300;
  s.d = 8;
  s.bias = true;
  Tensors t = make_tensors(s, 5);
  for (int64_t j = 0; j < s.lk; ++j) {
    store_element(DType::f32, t.bias.data(), 1 * s.lk + j, -INFINITY);                // row 1: nothing
    if (j < 256) store_element(DType::f32, t.bias.data(), 2 * s.lk + j, -INFINITY);   // row 2: only the second block
    if (j >= 256) store_element(DType::f32, t.bias.data(), 3 * s.lk + j, -INFINITY);  // row 3: only the first block
  }
  const AttentionProblem p = problem_of(s, t);
  run(p, 1);
  check_against_double(s, t, p);
  for (int64_t c = 0; c < s.d; ++c) EXPECT_EQ(t.out.at(s.d + c), 0.0);
}

// Masks are often made of the lowest number: over all keys it is a bias like any other, and the result the mean of v,
// as all that the scores add is below its rounding. In several blocks of keys, and beside numbers of any size.
TEST(Attention, TheLargestBiasesStayFinite) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  Sizes s;
  s.lq = 6;
  s.lk = 300;
  s.d = 8;
  s.bias = true;
  Tensors t = make_tensors(s, 5);
  for (int64_t j = 0; j < s.lk; ++j) {
    const auto set = [&](int64_t row, double bias) { store_element(DType::f32, t.bias.data(), row * s.lk + j, bias); };
    set(0, kLowest);
    set(1, -kLowest);
    set(2, j % 2 == 0 ? 2.5e38 : 2.6e38);
    if (j == 280) set(3, 2.5e38);
    set(4, j % 3 == 0 ? -kLowest : kLowest);
    set(5, j < 256 ? kLowest : -2.5e38);
  }
  const AttentionProblem p = problem_of(s, t);
  run(p, 1);
  check_against_double(s, t, p);
  const auto& vs = t.v.desc.strides;
  for (int64_t c = 0; c < s.d; ++c) {
    double mean = 0;
    for (int64_t j = 0; j < s.lk; ++j) mean += t.v.at(j * vs[1] + c * vs[3]) / static_cast<double>(s.lk);
    EXPECT_NEAR(t.out.at(c), mean, 1e-6);
    EXPECT_NEAR(t.out.at(s.d + c), mean, 1e-6);
    EXPECT_EQ(t.out.at(3 * s.d + c), t.v.at(280 * vs[1] + c * vs[3]));
  }
}

TEST(Attention, NoKeysGiveZero) {
  Sizes s;
  s.lq = 3;
  s.lk = 0;
  s.d = 5;
  check(s);
}

TEST(Attention, ANanScoreShowsInItsRowAlone) {
  Sizes s;
  s.lq = 3;
  s.lk = 20;
  s.d = 8;
  Tensors t = make_tensors(s, 6);
  store_element(DType::f32, t.q.data(), 1 * s.d, NAN);
  run(problem_of(s, t), 1);
  EXPECT_FALSE(std::isnan(t.out.at(0)));
  EXPECT_TRUE(std::isnan(t.out.at(s.d)));
  EXPECT_FALSE(std::isnan(t.out.at(2 * s.d)));
}

TEST(Attention, BitsDoNotDependOnBatchThreadsOrOtherRows) {
  for (bool causal : {false, true}) {
    Sizes all;
    all.batch = 3;
    all.heads = all.kv_heads = 2;
    all.lq = 230;
    all.lk = 300;
    all.d = 40;
    all.causal = causal;
    Tensors whole = make_tensors(all, 8);
    run(problem_of(all, whole), 1);
    for (int threads : {2, 3}) {
      Tensors t = make_tensors(all, 8);
      run(problem_of(all, t), threads);
      ASSERT_EQ(whole.out.bytes, t.out.bytes);
    }
    const int64_t q_picture = all.lq * all.heads * all.d * 4;
    const int64_t k_picture = all.lk * all.heads * all.d * 4;
    for (int64_t rows : {230, 17, 1}) {
      Sizes one = all;
      one.batch = 1;
      one.lq = rows;
      Tensors t = make_tensors(one, 8);
      AttentionProblem p = problem_of(one, t);
      p.q.data = whole.q.data() + q_picture;
      p.k.data = whole.k.data() + k_picture;
      p.v.data = whole.v.data() + k_picture;
      run(p, 1);
      ASSERT_EQ(
          std::memcmp(t.out.data(), whole.out.data() + q_picture, static_cast<size_t>(rows * all.heads * all.d * 4)), 0)
          << rows;
    }
  }
}

// Keys and values of all heads packed at once, of two and of one at a time, or by every chunk for itself.
TEST(Attention, BitsDoNotDependOnWhatIsPackedAtOnce) {
  Sizes s;
  s.batch = 2;
  s.heads = 6;
  s.kv_heads = 3;
  s.lq = 230;
  s.lk = 700;
  s.d = 40;
  s.bias = true;
  s.lengths = {700, 131};
  const auto result = [&](int64_t shared_bytes, int threads, size_t* scratch) {
    Tensors t = make_tensors(s, 9);
    AttentionProblem p = problem_of(s, t);
    p.shared_bytes = shared_bytes;
    *scratch = attention_scratch_bytes(p, threads);
    run(p, threads);
    return t.out.bytes;
  };
  const int64_t block_bytes = kAttentionKeys * (40 + 40) * 4;
  const int64_t blocks = (s.lk + kAttentionKeys - 1) / kAttentionKeys, head_bytes = blocks * block_bytes;
  size_t all = 0, two = 0, one = 0, none = 0;
  const auto want = result(AttentionProblem().shared_bytes, 1, &all);
  for (const int threads : {1, 2}) {
    EXPECT_EQ(result(2 * head_bytes, threads, &two), want);
    EXPECT_EQ(result(head_bytes, threads, &one), want);
    EXPECT_EQ(result(0, threads, &none), want);
  }
  result(AttentionProblem().shared_bytes, 2, &all);
  EXPECT_EQ(all - two, static_cast<size_t>(4 * head_bytes));  // of six heads
  EXPECT_EQ(two - one, static_cast<size_t>(head_bytes));
  EXPECT_EQ(one - none, static_cast<size_t>(head_bytes - 2 * block_bytes));  // one block for each of two workers
}

// Every instruction set that this machine has and the kernels are compiled for: rows are lanes, keys and channels come
// in tiles as high as the registers allow, and what is left of them in smaller ones.
TEST(Attention, EveryInstructionSet) {
  int sets = 0;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    ++sets;
    for (int64_t d = 1; d <= 26; ++d) {
      Sizes s;
      s.lq = 3 * d;
      s.lk = kAttentionKeys - 13 + d;
      s.d = d;
      s.bias = d % 2 == 0;
      s.causal = d % 3 == 0;
      s.type = d % 4 == 1 ? DType::f16 : DType::f32;
      check(s);
    }
    for (const int64_t rows : {1, 15, 47, 100}) {
      Sizes s;
      s.lq = s.lk = 150;
      s.d = 40;
      s.causal = true;
      Tensors all = make_tensors(s, 7), few = make_tensors(s, 7);
      run(problem_of(s, all), 1);
      s.lq = rows;
      run(problem_of(s, few), 1);
      ASSERT_EQ(std::memcmp(few.out.data(), all.out.data(), static_cast<size_t>(rows * s.d) * sizeof(float)), 0)
          << rows;
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  EXPECT_GE(sets, 1);
}

}  // namespace
}  // namespace chiaro
