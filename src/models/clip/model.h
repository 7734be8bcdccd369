// The text encoder of CLIP: Radford et al., arXiv:2103.00020, section 2.4. A causal transformer with the norms first.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "models/clip/config.h"
#include "nn/weights_view.h"

namespace chiaro::models {

// These stand at the root of the canonical names ("text_model...").
// ids i32 [N,L] -> tokens plus positions [N,L,width] of type `dtype`.
Value clip_text_embed(const nn::Path& at, const ClipTextConfig& config, DType dtype, Value ids);
// x [N,L,width] -> the states after layers first .. end-1.
Value clip_text_layers(const nn::Path& at, const ClipTextConfig& config, int64_t first, int64_t end, Value x);
// The final norm over states.
Value clip_text_norm(const nn::Path& at, const ClipTextConfig& config, Value states);

// What a graph is built for.
struct ClipTextRequest {
  int64_t batch = 1;
  int64_t length = 77;       // tokens, at most config.positions
  int64_t skip = 0;          // layers left out at the end; 1 is the penultimate layer ("clip skip 2" of most programs)
  bool final_norm = true;    // over the states of the layer that `skip` leaves last, as SD 1.x and 2.x have it
  bool pooled = false;       // also the final norm's row of each text's end token
  DType dtype = DType::f32;  // to compute in; the output is f32
};
// Input: "ids" i32 [N,L]. Output: "states" f32 [N,L,width]: transformers' last_hidden_state where skip = 0 and
// final_norm; its hidden_states[-1 - skip] where not final_norm. Module "te".
// With `pooled` also the input "end_rows" i32 [N], n * L + the position of the first end token of text n, and the
// output "pooled" f32 [N,width]; it reads the last layer whatever `skip` says. Errors: those of the weights, and usage
// (length or skip out of range). An id outside the vocabulary is an error when the graph runs.
Result<Graph> build_clip_text(const ClipTextConfig& config, nn::WeightSource& weights, const ClipTextRequest& request);

}  // namespace chiaro::models
