// Attention without a score matrix:
//
//   out[b, i, h] = softmax_j(scale * q[b, i, h] . k[b, j, g] + bias[b, h, i, j]) v[b, j, g],  g = h / (heads /
//   kv_heads)
//
// over keys j < key_length[b] and, with `causal`, j <= i. A row with no key, or with all scores -inf, gives 0. Keys
// beyond key_length are never read. (A bias of -inf hides a key's score, not a NaN or infinity in its value: 0 * inf is
// NaN.) Source: Dao et al., "FlashAttention", arXiv:2205.14135 (blocks of keys); Milakov and Gimelshein,
// arXiv:1805.02867 (online softmax).
//
// Determinism: a row is one lane of every vector. It is summed over blocks of kAttentionKeys keys from key 0 on, each
// in the order of the keys: its bits do not depend on the batch, on the other rows, or on threads. Thread rule and
// errors: as gemm().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "core/thread_pool.h"

namespace chiaro {

inline constexpr int64_t kAttentionKeys = 128;
inline constexpr int64_t kAttentionRowFloats = 96 << 10;  // of the queries and sums of a chunk, at most 192 rows of q

// Element (b, l, h, c) at b * batch + l * row + h * head + c * channel (elements of the dtype). f32 f16 bf16.
struct AttentionTensor {
  const void* data = nullptr;
  DType dtype = DType::f32;
  int64_t batch_stride = 0, row_stride = 0, head_stride = 0, channel_stride = 1;
};

struct AttentionProblem {
  int64_t batch = 1, heads = 1, kv_heads = 1, lq = 0, lk = 0, d = 0;
  AttentionTensor q, k, v;  // [batch, lq, heads, d], [batch, lk, kv_heads, d] twice
  // Added to the scaled scores: [batch, heads, lq, lk] in strides that may be 0; null data: none.
  const void* bias = nullptr;
  DType bias_dtype = DType::f32;
  int64_t bias_batch = 0, bias_head = 0, bias_row = 0, bias_key = 0;
  const int32_t* key_lengths = nullptr;  // [batch], clamped to [0, lk]; null: lk everywhere
  int64_t key_length_stride = 1;
  float scale = 1;
  bool causal = false;
  void* out = nullptr;      // strides and dtype as out_map (f32, f16, bf16)
  AttentionTensor out_map;  // its data is not used
  // Keys and values of as many heads as fit are packed once for all rows of q; where one head has more, every chunk
  // packs them for itself. The same bits either way.
  int64_t shared_bytes = 32 << 20;
};

// By sizes alone.
size_t attention_scratch_bytes(const AttentionProblem& problem, int threads);
void attention_block(const AttentionProblem& problem, std::byte* scratch, ThreadPool& pool,
                     const std::atomic<bool>* cancel = nullptr);

}  // namespace chiaro
