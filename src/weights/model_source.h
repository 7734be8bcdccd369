// What a user gives to --model, opened: a diffusers folder or a single checkpoint file.
//
// Only files are looked at here: which class can be built, and which tensor is which layer, is for models/ to say.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"
#include "weights/gguf_values.h"
#include "weights/json_config.h"
#include "weights/weight_map.h"

namespace chiaro {

enum class ModelKind {
  diffusers_folder,  // model_index.json and a folder for each component
  single_file,       // one .safetensors, .gguf or PyTorch file that holds all components (a checkpoint)
  parts,             // no model as a whole: every component in a file of its own (ModelFiles)
};

// The one component of a single file: all of its tensors, under the checkpoint's names.
inline constexpr std::string_view kCheckpointComponent = "checkpoint";

struct ModelComponent {
  std::string name;        // "unet"
  std::string library;     // "diffusers", "transformers"; empty for a single file
  std::string class_name;  // "UNet2DConditionModel"; empty for a single file
  std::filesystem::path folder;
  std::optional<JsonConfig> config;             // config.json, where there is one
  std::vector<std::filesystem::path> files;     // the weights, in the order of their names
  std::map<std::string, std::string> metadata;  // of a single file of weights
  GgufMetadata gguf;                            // of a GGUF file: what it is, its tokenizer
  std::vector<SkippedTensor> others;            // entries of a PyTorch file that are no tensors
  std::vector<std::string> oddities;            // of a single file: what is unusual about its layout
  WeightMap weights;

  // What the file says about itself in texts, of whichever kind it is: `metadata`, or the texts of `gguf`, those that
  // `convert` took over from a safetensors file under their old keys.
  std::map<std::string, std::string> texts() const;
};

// A component without weights: a tokenizer or a scheduler.
struct ModelPart {
  std::string name;
  std::string class_name;
  std::filesystem::path folder;
};

// What a user gives file by file, as the flags of sd-cli name it; empty where not given. A part wins over what `model`
// has in its place.
struct ModelFiles {
  std::filesystem::path model;            // a folder or a checkpoint
  std::filesystem::path diffusion_model;  // the denoiser alone
  std::filesystem::path vae;
  std::filesystem::path clip_l;  // the text encoders; SD 2.x's, an OpenCLIP ViT-H, is given as clip_l too
  std::filesystem::path clip_g;
  std::filesystem::path t5xxl;
  std::filesystem::path llm;
  std::filesystem::path taesd;  // a small stand-in for the vae
};

struct ModelSource {
  ModelKind kind = ModelKind::diffusers_folder;
  std::filesystem::path path;
  std::string pipeline_class;       // "StableDiffusionPipeline"; empty for a single file
  std::optional<JsonConfig> index;  // model_index.json: settings of the pipeline as a whole
  std::map<std::string, ModelComponent, std::less<>> components;
  std::map<std::string, ModelPart, std::less<>> tokenizers;  // "tokenizer", "tokenizer_2"
  std::string scheduler_class;
  std::optional<JsonConfig> scheduler;  // scheduler/scheduler_config.json
  std::vector<std::string> ignored;     // components that have no effect here (safety_checker), to be reported
  // Parts given in files of their own, by the name of the flag ("diffusion_model", "vae", "clip_l", ...).
  std::map<std::string, ModelComponent, std::less<>> parts;

  // Errors: bad_file where the model has no component of this name, listing those it has.
  Result<const ModelComponent*> component(std::string_view name) const;
  // nullptr where the part was not given.
  const ModelComponent* part(std::string_view name) const;
};

// The tensors of one file (safetensors, GGUF, PyTorch), of the shards of an index, or of a component's folder (with its
// config.json), whatever they are for. The component has no name. Errors: io, bad_file.
Result<ModelComponent> open_weights(const std::filesystem::path& path);

// Plain weights are preferred; a variant ("diffusion_pytorch_model.fp16.safetensors") serves where there are none, and
// so do shards listed by an index ("….safetensors.index.json"); where there are no safetensors, the same as PyTorch's
// .bin, then GGUF. No path named in a file leads out of its folder.
// Errors: io (missing); bad_file naming the file that was expected, or what the file given looks like.
Result<ModelSource> open_model(const std::filesystem::path& path);
// As above, with parts: a part is a file of weights, or a component's folder (config.json and weights). Also errors:
// usage where nothing is given; those of a part name its flag.
Result<ModelSource> open_model(const ModelFiles& files);

}  // namespace chiaro
