// Flash attention, rows of q as lanes.
#include "ops/cpu_blocks/attention_block.h"

#include <limits>

#include "ops/cpu_blocks/gemm_shape.h"
#include "ops/cpu_blocks/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/attention_block.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/attention_kernel-inl.h"

#ifndef CHIARO_ATTENTION_ONCE
#define CHIARO_ATTENTION_ONCE
namespace chiaro {

inline constexpr int64_t kAttentionPanel = kGemmNrMax;  // rows of q of the widest panel

// Offsets (floats) of a worker's buffers.
struct AttentionCut {
  int64_t rows = 0, q_blocks = 0;  // rows of q per chunk: whole panels of every instruction set
  int64_t row_stride = 0;          // of results on their way out
  int64_t q = 0, sums = 0, scores = 0, bias = 0, out = 0, keys = 0, peak = 0, total = 0, passing = 0, floats = 0;
  int64_t values = 0, block_floats = 0;  // where values follow the keys of a block; floats of a block
  int64_t key_blocks = 0, group = 0;     // of a head; heads of k packed at once, 0: none
};

inline AttentionCut attention_cut(const AttentionProblem& p) {
  AttentionCut cut;
  // Queries and sums of a chunk stay in the second-level cache beside a block of keys and values.
  const int64_t most = std::clamp<int64_t>(kAttentionRowFloats / (2 * p.d) / kAttentionPanel, 1, 6) * kAttentionPanel;
  cut.q_blocks = ceil_div(p.lq, most);
  cut.rows = round_up(ceil_div(p.lq, std::max<int64_t>(1, cut.q_blocks)), kAttentionPanel);
  cut.row_stride = round_up(p.d, 4) + 16;
  int64_t end = 0;
  const auto take = [&end](int64_t floats) {
    const int64_t start = end;
    end += round_up(floats, 16);
    return start;
  };
  cut.q = take(cut.rows * p.d);
  cut.sums = take(cut.rows * p.d);
  cut.scores = take(kAttentionKeys * kAttentionPanel);
  cut.bias = take(kAttentionKeys * kAttentionPanel);
  cut.out = take(kAttentionPanel * cut.row_stride);
  cut.values = kAttentionKeys * p.d;
  cut.block_floats = 2 * cut.values;
  cut.key_blocks = ceil_div(p.lk, kAttentionKeys);
  const int64_t head_bytes = std::max<int64_t>(1, cut.key_blocks) * cut.block_floats * 4;
  cut.group = std::min(p.shared_bytes / head_bytes, p.batch * p.kv_heads);
  cut.keys = take(cut.group > 0 ? 0 : cut.block_floats);
  cut.peak = take(cut.rows);
  cut.total = take(cut.rows);
  cut.passing = take(2 * kAttentionPanel);
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

// Where a chunk, or a panel of it, stands.
struct AttentionPlace {
  int64_t batch = 0, head = 0, kv_head = 0, row = 0, rows = 0;
};

// A block of keys, packed.
struct AttentionKeys {
  const float *keys = nullptr, *values = nullptr;
  int64_t first = 0, count = 0;
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

// Rows of f32 side by side, which need not be converted or gathered; null where they are not.
HWY_INLINE float* plain_rows(const void* data, const AttentionTensor& t) {
  const bool plain =
      t.dtype == DType::f32 && t.channel_stride == 1 && reinterpret_cast<uintptr_t>(data) % alignof(float) == 0;
  return plain ? static_cast<float*>(const_cast<void*>(data)) : nullptr;
}

// Keys [key, key + count) as tiles [channel][kMr] of keys, values behind them as tiles [key][kMr] of channels; the last
// tile of either is as wide as there are keys or channels left.
HWY_INLINE void pack_keys(const AttentionRun& run, const AttentionPlace& at, int64_t key, int64_t count, float* out) {
  const AttentionProblem& p = *run.problem;
  const int64_t bytes = unit_bytes(p.k.dtype);
  HWY_ALIGN float stage[kMr * kPackSlab];
  for (int64_t n = 0; n < count; n += kMr) {
    const int64_t width = std::min<int64_t>(kMr, count - n);
    const std::byte* source = tensor_at(p.k, at.batch, key + n, at.kv_head);
    if (const float* rows = plain_rows(source, p.k); rows != nullptr) {
      transpose_rows(rows, p.k.row_stride, width, p.d, out + n * p.d, width);
      continue;
    }
    for (int64_t c = 0; c < p.d; c += kPackSlab) {
      const int64_t channels = std::min(kPackSlab, p.d - c);
      for (int64_t r = 0; r < width; ++r) {
        load_row(p.k.dtype, source + (r * p.k.row_stride + c * p.k.channel_stride) * bytes, p.k.channel_stride,
                 static_cast<size_t>(channels), stage + r * kPackSlab);
      }
      transpose_rows(stage, kPackSlab, width, channels, out + n * p.d + c * width, width);
    }
  }
}
HWY_INLINE void pack_values(const AttentionRun& run, const AttentionPlace& at, int64_t key, int64_t count, float* out) {
  const AttentionProblem& p = *run.problem;
  const int64_t bytes = unit_bytes(p.v.dtype);
  constexpr int64_t kSlab = kPackSlab / kMr * kMr;  // channels at once: whole tiles
  HWY_ALIGN float stage[kSlab + 16];
  const std::byte* source = tensor_at(p.v, at.batch, key, at.kv_head);
  const float* const plain = plain_rows(source, p.v);
  for (int64_t c = 0; c < p.d; c += kSlab) {
    const int64_t channels = std::min(kSlab, p.d - c);
    for (int64_t j = 0; j < count; ++j) {
      const float* row = plain == nullptr ? stage : plain + j * p.v.row_stride + c;
      if (plain == nullptr) {
        load_row(p.v.dtype, source + (j * p.v.row_stride + c * p.v.channel_stride) * bytes, p.v.channel_stride,
                 static_cast<size_t>(channels), stage);
      }
      for (int64_t t = 0; t < channels; t += kMr) {
        const int64_t width = std::min<int64_t>(kMr, channels - t);
        copy_few(row + t, width, out + (c + t) * count + j * width);
      }
    }
  }
}
HWY_INLINE void pack_block(const AttentionRun& run, const AttentionPlace& at, int64_t key, int64_t count, float* out) {
  pack_keys(run, at, key, count, out);
  pack_values(run, at, key, count, out + run.cut.values);
}

// Rows of q as [channel][width], rows that there are not as zeros. Scores become powers of four: the scale and log4(e)
// are multiplied in here, once per query instead of once per score.
HWY_INLINE void pack_queries(const AttentionRun& run, const AttentionPlace& panel, int64_t width, float* out) {
  const AttentionProblem& p = *run.problem;
  const VF factor = hn::Set(DF(), p.scale * kLog4E);
  const std::byte* source = tensor_at(p.q, panel.batch, panel.row, panel.head);
  if (const float* rows = plain_rows(source, p.q); rows != nullptr && panel.rows == width) {
    transpose_rows(rows, p.q.row_stride, width, p.d, out, width);
  } else {
    pack_panel(p.q.dtype, source, p.q.row_stride, p.q.channel_stride, panel.rows, width, p.d, out);
  }
  map_f32(out, out, static_cast<size_t>(p.d * width), [factor](VF v) HWY_ATTR { return hn::Mul(v, factor); });
}

// The bias of a panel and a block of keys, in `stage` where it is not one number for all rows.
HWY_INLINE ScoreMask mask_of(const AttentionRun& run, const AttentionPlace& panel, int64_t width,
                             const AttentionKeys& block, float* stage) {
  const AttentionProblem& p = *run.problem;
  ScoreMask mask;
  mask.causal = p.causal && block.first + block.count > panel.row + 1;
  mask.row = panel.row - block.first;
  if (p.bias == nullptr) return mask;
  const int64_t offset =
      panel.batch * p.bias_batch + panel.head * p.bias_head + panel.row * p.bias_row + block.first * p.bias_key;
  const std::byte* source = static_cast<const std::byte*>(p.bias) + offset * unit_bytes(p.bias_dtype);
  mask.bias = stage;
  mask.bias_of_rows = p.bias_row != 0;
  if (mask.bias_of_rows) {
    pack_panel(p.bias_dtype, source, p.bias_row, p.bias_key, panel.rows, width, block.count, stage);
  } else {
    load_row(p.bias_dtype, source, p.bias_key, static_cast<size_t>(block.count), stage);
  }
  return mask;
}

// One panel of a chunk against one block of keys; `n` is the panel's first row, counted from the chunk's.
template <int kVecs>
HWY_INLINE void attend(const AttentionRun& run, const AttentionPlace& panel, int64_t n, const AttentionKeys& block,
                       float* scratch) {
  const AttentionProblem& p = *run.problem;
  const AttentionCut& cut = run.cut;
  const int64_t width = kVecs * vector_lanes();
  const bool first = block.first == 0;
  float* passing = scratch + cut.passing;
  const PanelState state{scratch + cut.peak + n, scratch + cut.total + n, passing, passing + kAttentionPanel};
  float* scores = scratch + cut.scores;
  std::fill_n(state.highest, width, -std::numeric_limits<float>::infinity());
  attention_product<kVecs>(block.count, p.d, block.keys, scratch + cut.q + n * p.d, scores, StoreScores{state.highest});
  const ScoreMask mask = mask_of(run, panel, width, block, scratch + cut.bias);
  if (mask.bias != nullptr || mask.causal) mask_scores<kVecs>(mask, block.count, scores, state.highest);
  weigh_scores<kVecs>(block.count, first, scores, state);
  attention_product<kVecs>(p.d, block.count, block.values, scores, scratch + cut.sums + n * p.d,
                           AddToSums{first ? nullptr : state.factor});
}

// Divides by the sum of weights and stores; a row without weights is 0. `any`: there was a key.
HWY_INLINE void finish_panel(const AttentionRun& run, const AttentionPlace& panel, int64_t n, int64_t width, bool any,
                             float* scratch) {
  const AttentionProblem& p = *run.problem;
  const DF d;
  float* sums = scratch + run.cut.sums + n * p.d;
  float* rows = scratch + run.cut.out;
  for (int64_t v = 0; v < width; v += vector_lanes()) {
    const VF total = any ? hn::LoadU(d, scratch + run.cut.total + n + v) : hn::Zero(d);
    const auto none = hn::Eq(total, hn::Zero(d));
    const VF weight = hn::Div(hn::Set(d, 1.0f), total);
    for (int64_t c = 0; c < p.d; ++c) {
      float* at = sums + c * width + v;
      hn::StoreU(hn::IfThenZeroElse(none, hn::Mul(hn::LoadU(d, at), weight)), d, at);
    }
  }
  const AttentionTensor& map = p.out_map;
  const int64_t offset = panel.batch * map.batch_stride + panel.row * map.row_stride + panel.head * map.head_stride;
  std::byte* out = static_cast<std::byte*>(p.out) + offset * unit_bytes(map.dtype);
  if (float* target = plain_rows(out, map); target != nullptr) {
    return transpose_rows(sums, width, p.d, panel.rows, target, map.row_stride);
  }
  transpose_rows(sums, width, p.d, panel.rows, rows, run.cut.row_stride);
  for (int64_t r = 0; r < panel.rows; ++r) {
    store_row(map.dtype, rows + r * run.cut.row_stride, static_cast<size_t>(p.d),
              out + r * map.row_stride * unit_bytes(map.dtype), map.channel_stride);
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
  if (count > 0) pack_block(run, at, key, count, run.shared + unit * run.cut.block_floats);
}

// Calls f(panel, its first row counted from the chunk's, its width) for the panels of a chunk.
template <class F>
HWY_INLINE void each_panel(const AttentionPlace& chunk, F f) {
  for (int64_t n = 0; n < chunk.rows; n += panel_width()) {
    AttentionPlace panel = chunk;
    panel.row = chunk.row + n;
    panel.rows = std::min(panel_width(), chunk.rows - n);
    f(panel, n, panel_columns(panel.rows));
  }
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
  float* scratch = run.workers + worker * cut.floats;
  each_panel(at, [&](const AttentionPlace& panel, int64_t n, int64_t width)
                     HWY_ATTR { pack_queries(run, panel, width, scratch + cut.q + n * p.d); });
  // Blocks are whole whatever a row sees: keys that are hidden from it get a weight of 0.
  const int64_t end = p.causal ? std::min(length, at.row + cut.rows) : length;
  for (int64_t key = 0; key < end; key += kAttentionKeys) {
    AttentionKeys block;
    block.first = key;
    block.count = std::min(kAttentionKeys, length - key);
    block.keys = run.shared + (in_group * cut.key_blocks + key / kAttentionKeys) * cut.block_floats;
    if (cut.group == 0) {
      pack_block(run, at, key, block.count, scratch + cut.keys);
      block.keys = scratch + cut.keys;
    }
    block.values = block.keys + cut.values;
    each_panel(at, [&](const AttentionPlace& panel, int64_t n, int64_t width) HWY_ATTR {
      // By the place of the panel alone, as its rows must not depend on how many others there are.
      if (p.causal && key > panel.row + panel_width() - 1) return;
      width == panel_width() ? attend<2>(run, panel, n, block, scratch) : attend<1>(run, panel, n, block, scratch);
    });
  }
  each_panel(at, [&](const AttentionPlace& panel, int64_t n, int64_t width)
                     HWY_ATTR { finish_panel(run, panel, n, width, end > 0, scratch); });
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
