// What the text models of Qwen are made of that diffusion models read their prompts with: Qwen3 (transformers'
// Qwen3Config) and the text half of Qwen2.5-VL (Qwen2_5_VLTextConfig).
#pragma once

#include <cstdint>

#include "chiaro/error.h"
#include "weights/gguf_values.h"
#include "weights/json_config.h"

namespace chiaro::models {

struct QwenTextConfig {
  int64_t vocabulary = 151936;
  int64_t width = 2560;
  int64_t inner_width = 9728;  // of the feed-forward
  int64_t layers = 36;
  int64_t heads = 32;        // of queries
  int64_t kv_heads = 8;      // of keys and values; they divide `heads`
  int64_t head_width = 128;  // heads * head_width need not be `width`
  double norm_eps = 1e-6;
  double rope_theta = 1e6;
  bool qk_norm = true;    // queries and keys are normed per head (Qwen3)
  bool qkv_bias = false;  // their projections have biases, values' too (Qwen2.5)
  bool operator==(const QwenTextConfig&) const = default;
};

// The published encoders: Qwen3-4B, which Z-Image reads, and Qwen2.5-VL-7B, which Qwen-Image reads.
QwenTextConfig qwen3_4b_config();
QwenTextConfig qwen25_vl_7b_config();

// From a config.json; Qwen2.5-VL's holds the text model's settings at the top or below "text_config".
// Errors: bad_file (mistyped settings), unsupported (a setting whose effect is not known here, named).
Result<QwenTextConfig> read_qwen_text_config(const JsonConfig& json);
// From the metadata that llama.cpp writes ("qwen3.block_count"). `vocabulary` is not there: the embedding's rows.
// Errors: bad_file (a key that is missing or of another kind); unsupported (another architecture, scaled positions).
Result<QwenTextConfig> read_qwen_text_gguf(const GgufMetadata& metadata, int64_t vocabulary);

}  // namespace chiaro::models
