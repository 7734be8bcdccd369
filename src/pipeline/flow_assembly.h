// Assembly of models of flows that read prompts with a language model: Z-Image, Qwen-Image.
#pragma once

#include "pipeline/assembly.h"

namespace chiaro {

// Fills `a` from a source for which is_flow_model (models/flow_model.h). Errors: those of find_flow_model; bad_file and
// unsupported for a scheduler or a tokenizer that is missing or not known; usage for options that such a model does not
// have.
Status read_flow_model(Assembly& a, const ModelSource& source, const AssembleRequest& request, Log& log);

// Whether its networks go together. Errors: bad_file.
Status check_flow_fit(const Assembly& a);
// Builds every network once, small. Errors: those of the weights.
Status check_flow_networks(Assembly& a);

// Whether the denoiser has positions for latents of this size. Errors: usage.
Status check_flow_size(const Assembly& a, int64_t latent_height, int64_t latent_width);

// The denoiser of one model alone, for graphs: sample [N,h,w,C], timestep f32 [N], context [N,L,D], of the type to
// compute in but for the timestep -> what it gives, [N,h,w,C].
Value flow_denoise(GraphBuilder& g, const Assembly& a, Value sample, Value timestep, Value context);

// The graph of the text encoder, as the model reads it: a layer of its own, behind the first `drop` tokens.
// Input: "ids" i32 [1,length]. Output: "states" f32 [1,length-drop,D].
struct PromptStates {
  int64_t length = 32, drop = 0;
  DType dtype = DType::f32;
};
Result<Graph> build_prompt_states(const Assembly& a, const PromptStates& request);

// What a scheduler_config.json of diffusers' FlowMatchEulerDiscreteScheduler says; `reversed` is not said there.
// Errors: bad_file; unsupported for a setting that changes the noise levels and is not known.
Result<FlowConfig> read_flow_config(const JsonConfig& json);

}  // namespace chiaro
