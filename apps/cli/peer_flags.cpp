// The flags of sd-cli that are accepted without effect, and those whose features do not exist here yet.
#include "generate_flags.h"

namespace chiaro::cli {
namespace {

struct DecidedFlag {
  const char* names;
  bool value;
  const char* instead;  // what Chiaro does
};

constexpr DecidedFlag kDecided[] = {
    {"--diffusion-fa", false, "attention never keeps a score matrix"},
    {"--fa", false, "attention never keeps a score matrix"},
    {"--diffusion-conv-direct", false, "the fastest convolution is chosen for each shape"},
    {"--vae-conv-direct", false, "the fastest convolution is chosen for each shape"},
    {"--offload-to-cpu", false, "weights stay mapped from their files; --backend says what runs where"},
    {"--control-net-cpu", false, "there is no control net"},
    {"--mmap", false, "weights are always mapped from their files"},
    {"--color", false, "messages carry no colours"},
    {"--type", true, "weights keep the types of their file"},
    {"--guidance", true, "it is for models that take guidance as an input (Flux); --cfg-scale guides all others"},
    {"--force-sdxl-vae-conv-scale", false, "the decoder computes in f32"},
};

struct AbsentFlag {
  const char* names;
  bool value;
  const char* mend;  // what to do instead
};

constexpr const char* kWholeModel = "give the whole model to --model: a diffusers folder or a single checkpoint";
constexpr const char* kTextOnly = "leave it out: pictures are made from text alone";
constexpr const char* kLeaveOut = "leave it out";
constexpr const char* kScaleLater = "leave it out, and scale the picture with another program";

constexpr AbsentFlag kAbsent[] = {
    {"--high-noise-diffusion-model", true, kWholeModel},
    {"--clip_vision", true, kWholeModel},
    {"--llm_vision", true, kTextOnly},
    {"--qwen2vl_vision", true, kTextOnly},
    {"--lora-model-dir", true, "merge the LoRA into the checkpoint first"},
    {"--lora-apply-mode", true, "merge the LoRA into the checkpoint first"},
    {"--embd-dir", true, "write the words out in the prompt"},
    {"--control-net", true, kTextOnly},
    {"--control-image", true, kTextOnly},
    {"--control-strength", true, kTextOnly},
    {"--photo-maker", true, kTextOnly},
    {"-i,--init-img", true, kTextOnly},
    {"--end-img", true, kTextOnly},
    {"-r,--ref-image", true, kTextOnly},
    {"--mask", true, kTextOnly},
    {"--strength", true, kTextOnly},
    {"--img-cfg-scale", true, "use --cfg-scale: pictures are made from text alone"},
    {"--upscale-model", true, kScaleLater},
    {"--upscale-repeats", true, kScaleLater},
    {"--slg-scale", true, kLeaveOut},
    {"--sigmas", true, "use --schedule discrete or karras, and --steps"},
    {"--timestep-shift", true, kLeaveOut},
    {"--sampler-rng", true, "use --rng: it rules all noise"},
    {"--tensor-type-rules", true, "convert the file first"},
    {"--video-frames", true, "leave it out: no video model is supported yet"},
    {"--fps", true, "leave it out: no video model is supported yet"},
    {"--output-begin-idx", true, "rename the pictures afterwards"},
    {"--vae-relative-tile-size", true, "give the size in latents: --vae-tile-size 64x64"},
    {"--circular", false, kLeaveOut},
    {"--canny", false, kTextOnly},
    {"--cache-mode", true, "leave it out: every step is computed in full"},
};

std::string long_name(const std::string& names) {
  const size_t comma = names.find(',');
  return comma == std::string::npos ? names : names.substr(comma + 1);
}

}  // namespace

void add_peer_flags(CLI::App& app, GenerateOptions& options) {
  constexpr const char* kHidden = "";
  app.add_option("--qwen2vl", options.parts.llm)->group(kHidden);  // what --llm was called
  for (const DecidedFlag& flag : kDecided) {
    const std::string sentence = std::string(flag.names) + " has no effect: " + flag.instead;
    if (flag.value) {
      app.add_option_function<std::string>(
             flag.names, [&options, sentence](const std::string&) { options.without_effect.push_back(sentence); })
          ->group(kHidden);
    } else {
      app.add_flag_callback(flag.names, [&options, sentence] { options.without_effect.push_back(sentence); })
          ->group(kHidden);
    }
  }
  for (const AbsentFlag& flag : kAbsent) {
    const Error error{ErrorCode::usage, long_name(flag.names) + " is not supported yet", "", flag.mend, ""};
    if (flag.value) {
      app.add_option_function<std::string>(flag.names, [error](const std::string&) { throw FlagRefused{error}; })
          ->expected(0, 1)
          ->group(kHidden);
    } else {
      app.add_flag_callback(flag.names, [error] { throw FlagRefused{error}; })->group(kHidden);
    }
  }
}

}  // namespace chiaro::cli
