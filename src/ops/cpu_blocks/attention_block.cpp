// Flash attention on the micro-kernel of the matrix product.
#include "ops/cpu_blocks/attention_block.h"

#include <limits>

#include "ops/cpu_blocks/gemm_shape.h"
#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/attention_block.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/gemm_kernel-inl.h"

#ifndef CHIARO_ATTENTION_ONCE
#define CHIARO_ATTENTION_ONCE
namespace chiaro {

// Offsets (floats) of a worker's buffers.
struct AttentionCut {
  int64_t rows = 0, q_blocks = 0;    // rows of q per chunk
  int64_t kc = 0, depth_blocks = 0;  // blocks of d in q . k
  int64_t out_stride = 0;
  int64_t q = 0, scores = 0, keys = 0, sums = 0, stage = 0, peak = 0, total = 0, floats = 0;
  int64_t values = 0, block_floats = 0;  // where values follow the keys of a block; floats of a block
  int64_t key_blocks = 0, group = 0;     // of a head; heads of k packed at once, 0: none
};

inline AttentionCut attention_cut(const AttentionProblem& p) {
  const int64_t lq = p.lq, d = p.d;
  AttentionCut cut;
  cut.q_blocks = ceil_div(lq, kAttentionRows);
  cut.rows = round_up(ceil_div(lq, std::max<int64_t>(1, cut.q_blocks)), 12);
  cut.kc = gemm_cut(1, 1, d).kc;
  cut.depth_blocks = gemm_cut(1, 1, d).k_blocks;
  cut.out_stride = round_up(d, kGemmNrMax) + 16;
  int64_t end = 0;
  const auto take = [&end](int64_t floats) {
    const int64_t start = end;
    end += round_up(floats, 16);
    return start;
  };
  cut.q = take(cut.depth_blocks * cut.rows * kGemmAStride);
  cut.scores = take(cut.rows * kGemmAStride);
  cut.values = kAttentionKeys * d;
  cut.block_floats = cut.values + kAttentionKeys * round_up(d, kGemmNrMax);
  cut.key_blocks = ceil_div(p.lk, kAttentionKeys);
  const int64_t head_bytes = std::max<int64_t>(1, cut.key_blocks) * cut.block_floats * 4;
  cut.group = std::min(p.shared_bytes / head_bytes, p.batch * p.kv_heads);
  cut.keys = take(cut.group > 0 ? 0 : cut.block_floats);
  cut.sums = take(cut.rows * cut.out_stride);
  cut.stage = take(kAttentionKeys + kGemmNrMax);
  cut.peak = take(cut.rows);
  cut.total = take(cut.rows);
  cut.floats = end;
  return cut;
}

struct AttentionRun {
  const AttentionProblem* problem = nullptr;
  AttentionCut cut;
  float* workers = nullptr;
  float* shared = nullptr;  // packed keys and values of the group: [head][block]
  int64_t first = 0;        // head of the group, over batch and kv_heads
  int64_t heads_of_one() const { return problem->heads / problem->kv_heads; }
  int64_t chunks_of_one() const { return heads_of_one() * cut.q_blocks; }
  // Keys that there are at all.
  int64_t keys_of(int64_t batch) const {
    const AttentionProblem& p = *problem;
    if (p.key_lengths == nullptr) return p.lk;
    return std::clamp<int64_t>(p.key_lengths[batch * p.key_length_stride], 0, p.lk);
  }
};

// Where a chunk stands.
struct AttentionPlace {
  int64_t batch = 0, head = 0, kv_head = 0, row = 0, rows = 0;
};

}  // namespace chiaro
#endif

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

HWY_INLINE const std::byte* tensor_at(const AttentionTensor& t, int64_t batch, int64_t row, int64_t head) {
  return static_cast<const std::byte*>(t.data) +
         (batch * t.batch_stride + row * t.row_stride + head * t.head_stride) * unit_bytes(t.dtype);
}

// log4(e). Scores are powers of four, not of two, so that any finite bias times this is finite.
inline constexpr float kLog4E = 1.44269504088896341f / 2;

// 4^x for x <= 0, within 1e-7 of it; 0 below 2^-126, NaN for NaN. 2 x = n + r with |r| <= 1/2: adding 1.5 * 2^23 + 127
// rounds 2 x, and leaves n + 127, the exponent of 2^n, in the lowest bits. A minimax polynomial, exact at 0, gives 2^r.
HWY_INLINE VF exp4_below_one(VF x) {
  const DF d;
  static constexpr float kPoly[] = {1.534581242594868e-4f,
                                    1.339993090368807e-3f,
                                    9.618489071726799e-3f,
                                    5.550328642129898e-2f,
                                    2.402264624834061e-1f,
                                    6.931471824645996e-1f,
                                    1.0f};
  const VF magic = hn::Set(d, 12583039.0f), two = hn::Set(d, 2.0f);
  const VF shifted = hn::MulAdd(two, x, magic);
  const VF r = hn::MulSub(two, x, hn::Sub(shifted, magic));
  const VF power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(DI(), shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -63.0f)), hn::Mul(polynomial(r, kPoly), power));
}

// Rows of q as the A of the micro-kernel, one image per block of depth; padded rows are zero. Scores become powers of
// four: the scale and log4(e) are multiplied in here, once per query instead of once per score.
HWY_INLINE void pack_queries(const AttentionRun& run, const AttentionPlace& at, float* out) {
  const AttentionProblem& p = *run.problem;
  const VF factor = hn::Set(DF(), p.scale * kLog4E);
  for (int64_t block = 0; block < run.cut.depth_blocks; ++block) {
    const int64_t k0 = block * run.cut.kc;
    const auto depth = static_cast<size_t>(std::min(run.cut.kc, p.d - k0));
    float* image = out + block * run.cut.rows * kGemmAStride;
    for (int64_t r = 0; r < run.cut.rows; ++r) {
      float* row = image + r * kGemmAStride;
      if (r >= at.rows) {
        std::memset(row, 0, depth * sizeof(float));
        continue;
      }
      const std::byte* source = tensor_at(p.q, at.batch, at.row + r, at.head);
      load_row(p.q.dtype, source + k0 * p.q.channel_stride * unit_bytes(p.q.dtype), p.q.channel_stride, depth, row);
      map_f32(row, row, depth, [factor](VF v) HWY_ATTR { return hn::Mul(v, factor); });
    }
  }
}

// Keys [key, key + count) as panels [d][width], values behind them as panels [count][width].
HWY_INLINE void pack_keys(const AttentionRun& run, const AttentionPlace& at, int64_t key, int64_t count, float* keys) {
  const AttentionProblem& p = *run.problem;
  float* values = keys + run.cut.values;
  for (int64_t n = 0; n < count; n += panel_width()) {
    const int64_t width = panel_columns(count - n);
    pack_panel(p.k.dtype, tensor_at(p.k, at.batch, key + n, at.kv_head), p.k.row_stride, p.k.channel_stride,
               std::min(width, count - n), width, p.d, keys + n * p.d);
  }
  const std::byte* source = tensor_at(p.v, at.batch, key, at.kv_head);
  for (int64_t n = 0; n < p.d; n += panel_width()) {
    const int64_t width = panel_columns(p.d - n);
    pack_panel(p.v.dtype, source + n * p.v.channel_stride * unit_bytes(p.v.dtype), p.v.channel_stride, p.v.row_stride,
               std::min(width, p.d - n), width, count, values + n * count);
  }
}

// Masks one row of scores (count of them, the first `visible` allowed), turns it into 4^(score - peak), and rescales
// what was summed before. Lanes behind `visible` become exactly 0.
HWY_INLINE void softmax_row(float* scores, int64_t count, int64_t visible, const float* bias, float* peak, float* total,
                            float* sums, int64_t channels, bool first) {
  const DF d;
  const int64_t lanes = vector_lanes();
  const VF lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (int64_t j = visible; j < round_up(count, lanes); ++j) scores[j] = 0;
  const auto masked = [=](VF s, int64_t j) HWY_ATTR {
    return visible - j < lanes ? hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(visible - j)), s, lowest) : s;
  };
  VF highest = lowest;
  // Without a bias the first pass need not store.
  for (int64_t j = 0; bias == nullptr && j < visible; j += lanes) {
    highest = hn::Max(highest, masked(hn::LoadU(d, scores + j), j));
  }
  const VF log4_e = hn::Set(d, kLog4E);
  for (int64_t j = 0; bias != nullptr && j < visible; j += lanes) {
    const VF s = masked(hn::MulAdd(hn::LoadU(d, bias + j), log4_e, hn::LoadU(d, scores + j)), j);
    hn::StoreU(s, d, scores + j);
    highest = hn::Max(highest, s);
  }
  const VF before = hn::Set(d, *peak);
  const VF after = hn::Max(before, hn::MaxOfLanes(d, highest));
  // Where nothing was visible yet, subtract 0: exp(-inf) is 0, not the NaN of (-inf) - (-inf).
  const VF shift = hn::IfThenZeroElse(hn::Eq(after, lowest), after);
  VF sum = hn::Zero(d);
  for (int64_t j = 0; j < visible; j += lanes) {
    const VF e = exp4_below_one(hn::Sub(masked(hn::LoadU(d, scores + j), j), shift));
    hn::StoreU(e, d, scores + j);
    sum = hn::Add(sum, e);
  }
  const float block_total = hn::GetLane(hn::SumOfLanes(d, sum));
  *peak = hn::GetLane(after);
  if (first) {
    *total = block_total;
    return;
  }
  const VF rescale = exp4_below_one(hn::Sub(before, shift));
  *total = *total * hn::GetLane(rescale) + block_total;
  if (hn::GetLane(rescale) == 1.0f) return;
  for (int64_t c = 0; c < channels; c += lanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, sums + c), rescale), d, sums + c);
  }
}

HWY_INLINE void softmax_block(const AttentionRun& run, const AttentionPlace& at, int64_t key, int64_t count,
                              float* scratch) {
  const AttentionProblem& p = *run.problem;
  float* stage = scratch + run.cut.stage;
  for (int64_t r = 0; r < at.rows; ++r) {
    const int64_t row = at.row + r;
    const int64_t visible = p.causal ? std::clamp<int64_t>(row + 1 - key, 0, count) : count;
    const float* bias = nullptr;
    if (p.bias != nullptr) {
      const int64_t offset = at.batch * p.bias_batch + at.head * p.bias_head + row * p.bias_row + key * p.bias_key;
      load_row(p.bias_dtype, static_cast<const std::byte*>(p.bias) + offset * unit_bytes(p.bias_dtype), p.bias_key,
               static_cast<size_t>(visible), stage);
      bias = stage;
    }
    softmax_row(scratch + run.cut.scores + r * kGemmAStride, count, visible, bias, scratch + run.cut.peak + r,
                scratch + run.cut.total + r, scratch + run.cut.sums + r * run.cut.out_stride, p.d, key == 0);
  }
}

// Divides by the sum of weights and stores; a row without weights is 0.
HWY_INLINE void finish_rows(const AttentionRun& run, const AttentionPlace& at, bool any, float* scratch) {
  const AttentionProblem& p = *run.problem;
  const DF d;
  for (int64_t r = 0; r < at.rows; ++r) {
    float* row = scratch + run.cut.sums + r * run.cut.out_stride;
    const float total = any ? scratch[run.cut.total + r] : 0.0f;
    if (total == 0.0f) {
      std::memset(row, 0, static_cast<size_t>(p.d) * sizeof(float));
    } else {
      const VF weight = hn::Set(d, 1.0f / total);
      for (int64_t c = 0; c < p.d; c += vector_lanes()) hn::StoreU(hn::Mul(hn::LoadU(d, row + c), weight), d, row + c);
    }
    const AttentionTensor& map = p.out_map;
    const int64_t offset = at.batch * map.batch_stride + (at.row + r) * map.row_stride + at.head * map.head_stride;
    store_row(map.dtype, row, static_cast<size_t>(p.d), static_cast<std::byte*>(p.out) + offset * unit_bytes(map.dtype),
              map.channel_stride);
  }
}

// One block of one head of the group.
void attention_keys(const AttentionRun& run, int64_t unit) {
  const AttentionProblem& p = *run.problem;
  const int64_t head = run.first + unit / run.cut.key_blocks, key = unit % run.cut.key_blocks * kAttentionKeys;
  AttentionPlace at;
  at.batch = head / p.kv_heads;
  at.kv_head = head % p.kv_heads;
  const int64_t count = std::min(kAttentionKeys, run.keys_of(at.batch) - key);
  if (count > 0) pack_keys(run, at, key, count, run.shared + unit * run.cut.block_floats);
}

// Rows of q of one head; chunks are counted from the group's first head of k on.
void attention_chunk(const AttentionRun& run, int64_t chunk, int worker) {
  const AttentionProblem& p = *run.problem;
  const AttentionCut& cut = run.cut;
  const int64_t in_group = chunk / run.chunks_of_one(), kv = run.first + in_group;
  AttentionPlace at;
  at.row = chunk % cut.q_blocks * cut.rows;
  at.rows = std::min(cut.rows, p.lq - at.row);
  at.batch = kv / p.kv_heads;
  at.kv_head = kv % p.kv_heads;
  at.head = at.kv_head * run.heads_of_one() + chunk / cut.q_blocks % run.heads_of_one();
  if (at.rows <= 0) return;
  const int64_t length = run.keys_of(at.batch);
  const int64_t end = p.causal ? std::min(length, at.row + at.rows) : length;
  float* scratch = run.workers + worker * cut.floats;
  float* scores = scratch + cut.scores;
  pack_queries(run, at, scratch + cut.q);
  std::fill_n(scratch + cut.peak, at.rows, -std::numeric_limits<float>::infinity());
  for (int64_t key = 0; key < end; key += kAttentionKeys) {
    // Blocks are whole whatever `end` is: keys that no row of these sees get a weight of 0.
    const int64_t count = std::min(kAttentionKeys, length - key);
    const float* keys = scratch + cut.keys;
    if (cut.group > 0) {
      keys = run.shared + (in_group * cut.key_blocks + key / kAttentionKeys) * cut.block_floats;
    } else {
      pack_keys(run, at, key, count, scratch + cut.keys);
    }
    for (int64_t block = 0; block < cut.depth_blocks; ++block) {
      const int64_t k0 = block * cut.kc;
      block_product(at.rows, count, k0, std::min(cut.kc, p.d - k0), p.d,
                    scratch + cut.q + block * cut.rows * kGemmAStride, keys, scores, kGemmAStride, block != 0);
    }
    softmax_block(run, at, key, count, scratch);
    block_product(at.rows, p.d, 0, count, count, scores, keys + cut.values, scratch + cut.sums, cut.out_stride,
                  key != 0);
  }
  finish_rows(run, at, end > 0, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(attention_keys);
HWY_EXPORT(attention_chunk);

size_t attention_scratch_bytes(const AttentionProblem& problem, int threads) {
  const AttentionCut cut = attention_cut(problem);
  return static_cast<size_t>(cut.floats * threads + cut.group * cut.key_blocks * cut.block_floats) * sizeof(float);
}

void attention_block(const AttentionProblem& problem, std::byte* scratch, ThreadPool& pool,
                     const std::atomic<bool>* cancel) {
  if (problem.batch == 0 || problem.heads == 0 || problem.lq == 0 || problem.d == 0) return;
  AttentionRun run;
  run.problem = &problem;
  run.cut = attention_cut(problem);
  run.workers = reinterpret_cast<float*>(scratch);
  run.shared = run.workers + pool.threads() * run.cut.floats;
  const auto pack = [&run](int64_t unit, int) { HWY_DYNAMIC_DISPATCH(attention_keys)(run, unit); };
  const auto chunk = [&run](int64_t c, int worker) { HWY_DYNAMIC_DISPATCH(attention_chunk)(run, c, worker); };
  const int64_t heads = problem.batch * problem.kv_heads;
  for (int64_t group = run.cut.group > 0 ? run.cut.group : heads; run.first < heads; run.first += group) {
    const int64_t count = std::min(group, heads - run.first);
    if (run.cut.group > 0) pool.parallel_for(count * run.cut.key_blocks, pack, cancel);
    pool.parallel_for(count * run.chunks_of_one(), chunk, cancel);
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return;
  }
}

}  // namespace chiaro
#endif
