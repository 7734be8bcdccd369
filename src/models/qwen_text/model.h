// The text models of Qwen as encoders of prompts: decoder-only transformers with norms first, grouped keys and values,
// and rotary positions. Qwen team, arXiv:2505.09388 (Qwen3) and arXiv:2502.13923 (Qwen2.5-VL).
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "models/qwen_text/config.h"
#include "nn/weights_view.h"

namespace chiaro::models {

// x [N,L,width] -> the states after layers 0 .. `layers` - 1. Below the root of the canonical names ("layers.0...").
Value qwen_text_layers(const nn::Path& at, const QwenTextConfig& config, int64_t layers, Value x);

// What a graph is built for.
struct QwenTextRequest {
  int64_t batch = 1;
  int64_t length = 32;       // tokens, all of them real: a shorter text is another graph, not a padded one
  int64_t skip = 0;          // layers left out at the end
  bool final_norm = true;    // over the states of the layer that `skip` leaves last
  int64_t drop = 0;          // leading tokens whose states are not given: those of a template's instructions
  DType dtype = DType::f32;  // to compute in; the output is f32. f16 overflows in the published models
};
// Input: "ids" i32 [N,L]. Output: "states" f32 [N,L-drop,width]: transformers' hidden_states[-1] where skip = 0 and
// final_norm; hidden_states[-1 - skip] where skip > 0 and not final_norm. Module "te".
// Errors: those of the weights, and usage (a length, skip or drop out of range). An id outside the vocabulary is an
// error when the graph runs.
Result<Graph> build_qwen_text(const QwenTextConfig& config, nn::WeightSource& weights, const QwenTextRequest& request);

}  // namespace chiaro::models
