#include "pipeline/conditioning.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/clip/model.h"
#include "pipeline/llm_conditioning.h"
#include "text/clip_chunks.h"
#include "text/prompt.h"

namespace chiaro {
namespace {

constexpr size_t kMostChunks = 32;  // 2,400 tokens: attention to the context grows with it

struct Side {
  std::string_view name;
  PromptChunks chunks;
};

Result<Side> chunk_side(const Assembly& a, std::string_view name, const std::string& text,
                        std::vector<std::string>& notices) {
  const Prompt prompt = parse_prompt(text, PromptPolicy::weights);
  note_prompt(name, prompt, notices);
  ClipChunkOptions options;
  options.chunk_tokens = static_cast<size_t>(a.clip.positions) - 2;
  options.max_chunks = kMostChunks;
  CHIARO_ASSIGN(PromptChunks chunks, chunk_prompt(*a.tokenizer, prompt, options));
  if (chunks.cut_tokens > 0) {
    notices.push_back(fmt::format("{}: the last {} of {} tokens were cut: \"{}\"", name, chunks.cut_tokens,
                                  chunks.token_count, chunks.cut_text));
  }
  return Side{name, std::move(chunks)};
}

// z'' = w z mean(z) / mean(w z) for one chunk z [L,D]; nothing where all weights are 1.
void apply_weights(std::span<float> states, std::span<const float> weights) {
  if (std::all_of(weights.begin(), weights.end(), [](float w) { return w == 1.0F; })) return;
  const size_t width = states.size() / weights.size();
  double before = 0, after = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    before += states[i];
    states[i] *= weights[i / width];
    after += states[i];
  }
  if (after == 0) return;
  const auto factor = static_cast<float>(before / after);
  for (float& value : states) value *= factor;
}

Status run_encoder(const Assembly& a, StageRunner& runner, const ConditioningRequest& request,
                   std::span<const int32_t> ids, std::span<float> states, const RunOptions& options) {
  models::ClipTextRequest clip;
  clip.length = a.clip.positions;
  clip.batch = static_cast<int64_t>(ids.size()) / clip.length;
  clip.skip = std::max(request.clip_skip - 1, 0);
  clip.dtype = request.dtype;
  if (clip.skip >= a.clip.layers) {
    return Error{ErrorCode::usage, fmt::format("--clip-skip {} leaves no layer", request.clip_skip),
                 fmt::format("the text encoder has {} layers", a.clip.layers), "use a smaller number", ""};
  }
  const std::string key =
      fmt::format("text encoder, {} chunks, skip {}, {}", clip.batch, clip.skip, dtype_name(clip.dtype));
  CHIARO_ASSIGN(auto executor, runner.executor(
                                   key, [&] { return build_clip_text(a.clip, *a.text_weights, clip); }, options));
  const Binding inputs[] = {bind_port("ids", ids)};
  const Binding outputs[] = {bind_port("states", states)};
  return executor->run(inputs, outputs, options);
}

}  // namespace

void note_prompt(std::string_view name, const Prompt& prompt, std::vector<std::string>& notices) {
  for (const std::string& notice : prompt.notices) notices.push_back(fmt::format("{}: {}", name, notice));
  for (const LoraTag& lora : prompt.loras) {
    notices.push_back(fmt::format("{}: LoRA \"{}\" was not applied: LoRAs are not supported yet", name, lora.name));
  }
  for (const RefusedTag& tag : prompt.refused) {
    notices.push_back(fmt::format("{}: {} was refused: {}", name, tag.text, tag.reason));
  }
}

Result<Conditioning> encode_prompts(const Assembly& a, StageRunner& runner, const ConditioningRequest& request,
                                    const RunOptions& options) {
  if (a.flow) return encode_llm_prompts(a, runner, request, options);
  Conditioning result;
  std::vector<Side> sides;
  if (request.guided) {
    CHIARO_ASSIGN(Side negative, chunk_side(a, "negative prompt", request.negative_prompt, result.notices));
    sides.push_back(std::move(negative));
  } else if (!request.negative_prompt.empty()) {
    result.notices.emplace_back("the negative prompt has no effect at --cfg-scale 1");
  }
  CHIARO_ASSIGN(Side positive, chunk_side(a, "prompt", request.prompt, result.notices));
  sides.push_back(std::move(positive));
  if (request.guided) pad_to_same_count(*a.tokenizer, sides[0].chunks, sides[1].chunks);

  std::vector<int32_t> ids;
  for (const Side& side : sides) {
    for (const auto& chunk : side.chunks.ids) ids.insert(ids.end(), chunk.begin(), chunk.end());
  }
  const size_t chunk_values = static_cast<size_t>(a.clip.positions * a.clip.width);
  const size_t chunks = ids.size() / static_cast<size_t>(a.clip.positions);
  result.context.resize(chunks * chunk_values);
  CHIARO_TRY(run_encoder(a, runner, request, ids, result.context, options));
  size_t at = 0;
  for (const Side& side : sides) {
    for (const auto& weights : side.chunks.weights) {
      apply_weights(std::span(result.context).subspan(at, chunk_values), weights);
      at += chunk_values;
    }
  }
  CHIARO_TRY(check_finite(result.context, "the text encoder", "embeddings"));
  result.rows = static_cast<int64_t>(sides.size());
  result.width = a.clip.width;
  result.length = static_cast<int64_t>(chunks) / result.rows * a.clip.positions;
  return result;
}

}  // namespace chiaro
