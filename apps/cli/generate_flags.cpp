#include "generate_flags.h"

#include <charconv>

#include "device_flags.h"
#include "exit_code.h"

namespace chiaro::cli {
namespace {

template <class T>
CLI::Option* add(CLI::App& app, const std::string& names, std::optional<T>& out, const std::string& help,
                 const std::string& type) {
  return app
      .add_option_function<T>(
          names, [&out](const T& value) { out = value; }, help)
      ->type_name(type);
}

// Negative: a random one. Anything else must be a whole number below 2^64.
void read_seed(const std::string& text, GenerateOptions& options) {
  const bool negative = text.starts_with('-');
  const char* begin = text.data() + (negative ? 1 : 0);
  const char* end = text.data() + text.size();
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (begin == end || stop != end || error != std::errc()) {
    throw FlagRefused{{ErrorCode::usage, "\"" + text + "\" is not a seed", "a seed is a whole number from 0 to 2^64-1",
                       "give such a number, or -1 for a random one", "--seed"}};
  }
  options.random_seed = negative;
  if (!negative) options.seed = value;
}

void check_mode(const std::string& mode) {
  if (mode == "img_gen" || mode == "txt2img") return;
  std::string mend = "leave --mode out to make pictures from text";
  if (mode == "metadata") mend = "use: chiaro inspect PICTURE.png";
  throw FlagRefused{{ErrorCode::usage, "mode \"" + mode + "\" is not supported yet", "img_gen is", mend, "--mode"}};
}

void add_part_flags(CLI::App& app, PartOptions& o) {
  const auto part = [&](const char* name, std::string& path, const char* help) {
    app.add_option(name, path, help)->type_name("FILE");
  };
  part("--diffusion-model", o.diffusion_model, "the denoiser in a file of its own; wins over --model's");
  part("--vae", o.vae, "likewise the encoder and decoder of pictures");
  part("--clip_l", o.clip_l, "likewise the text encoder (for SD 2.x its OpenCLIP)");
  part("--clip_g", o.clip_g, "of SDXL: refused, as no supported family uses it");
  part("--t5xxl", o.t5xxl, "of Flux and SD3: refused likewise");
  part("--llm", o.llm, "the language model that Qwen-Image and Z-Image read prompts with: a file or its folder");
  part("--taesd,--tae", o.taesd, "a TAESD, a small decoder: makes the pictures in place of the VAE");
  app.add_flag("--taesd-preview-only", o.taesd_preview_only, "the TAESD makes previews, the VAE the pictures");
  app.add_option("--prediction", o.prediction, "epsilon or v, where the model does not say (default: the model's)")
      ->type_name("NAME");
}

// "64x48" (width first, as sd-cli has it) or "64" for both.
void read_tile_size(const std::string& text, TilingFlags& o) {
  const char* end = text.data() + text.size();
  int width = 0, height = 0;
  auto read = std::from_chars(text.data(), end, width);
  bool good = read.ec == std::errc();
  height = width;
  if (good && read.ptr != end) {
    good = *read.ptr == 'x';
    if (good) read = std::from_chars(read.ptr + 1, end, height);
    good = good && read.ec == std::errc() && read.ptr == end;
  }
  if (!good || width < 1 || height < 1) {
    throw FlagRefused{{ErrorCode::usage, "\"" + text + "\" is no size of tiles",
                       "it is a width and a height in latents", "write it as 64x64", "--vae-tile-size"}};
  }
  o.width = width;
  o.height = height;
}

void add_tiling_flags(CLI::App& app, TilingFlags& o) {
  app.add_option_function<std::string>(
         "--vae-tiling", [&o](const std::string& mode) { o.mode = mode.empty() ? "on" : mode; },
         "decode in overlapping tiles: less memory, not the same bytes. on (also without a word), off, auto: where the "
         "picture does not fit whole (default: auto)")
      ->expected(0, 1)
      ->check(CLI::IsMember({"", "on", "off", "auto"}).description(""))
      ->type_name("[on|off|auto]");
  app.add_option_function<std::string>(
         "--vae-tile-size", [&o](const std::string& text) { read_tile_size(text, o); },
         "of a tile, in latents, most of which are 8 pixels (default: 64x64)")
      ->type_name("WxH");
  add(app, "--vae-tile-overlap", o.overlap, "the part of a tile that the next one shares, 0 to 0.5 (default: 0.5)",
      "X");
}

void add_preview_flags(CLI::App& app, PreviewFlags& o) {
  app.add_option(
         "--preview", o.kind,
         "show the picture while it is made: proj (colours of the latents, quick), tae (by --taesd), vae (by the "
         "model's decoder, slow) or none (default); changes no byte of the picture")
      ->check(CLI::IsMember({"none", "proj", "tae", "vae"}).description(""))
      ->type_name("NAME");
  app.add_option("--preview-path", o.path, "the file that holds the latest preview (default: ./preview.png)")
      ->type_name("FILE.png");
  app.add_option("--preview-interval", o.interval, "steps from one preview to the next (default: 1)")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N");
  app.add_flag("--preview-noisy", o.noisy, "show the noisy latents themselves");
}

void add_request_flags(CLI::App& app, GenerateOptions& o) {
  add(app, "-p,--prompt", o.prompt, "what to paint; \"-\" reads it from standard input", "TEXT");
  add(app, "-n,--negative-prompt", o.negative_prompt, "what to avoid", "TEXT");
  add(app, "-W,--width", o.width, "pixels, 8 to 16384 (default: the model's)", "N");
  add(app, "-H,--height", o.height, "pixels, 8 to 16384 (default: the model's)", "N");
  add(app, "--steps", o.steps, "sampling steps (default: 20, or what a distilled model is made for)", "N");
  add(app, "--cfg-scale", o.cfg_scale,
      "how strictly to follow the prompt; 1: no guidance (default: 7, or what the model is made for)", "X");
  app.add_option_function<std::string>(
         "-s,--seed", [&o](const std::string& text) { read_seed(text, o); },
         "whole number; negative: a random one (default: 42)")
      ->type_name("N");
  app.add_option("-b,--batch-count", o.batch_count, "how many pictures; picture i takes seed + i (default: 1)")
      ->type_name("N");
  app.add_option("--batch-size", o.batch_size,
                 "pictures computed together; changes speed and memory, never a byte (default: 1)")
      ->type_name("N");
  add(app, "--sampling-method", o.sampling_method, "euler, euler_a, heun, dpm++2m, ddim (default: the model's)",
      "NAME");
  add(app, "--flow-shift", o.flow_shift,
      "of models of flows: more steps at high noise the larger it is (default: the model's; 3 is usual)", "X");
  add(app, "--schedule,--scheduler", o.schedule, "discrete or karras (default: discrete)", "NAME");
  add(app, "--rng", o.rng, "cuda or cpu: whose random numbers a seed gives (default: cuda)", "NAME");
  add(app, "--eta", o.eta, "fresh noise of ancestral samplers, 0 to 1 (default: 1)", "X");
  add(app, "--clip-skip", o.clip_skip, "1: the text encoder's last layer, 2: the one before (default: 1)", "N");
  app.add_option("--from", o.from, "repeat the run stored in this picture; flags given here override it")
      ->type_name("PICTURE.png");
}

void add_engine_flags(CLI::App& app, GenerateOptions& o) {
  add(app, "-m,--model", o.model,
      "a diffusers folder or a checkpoint: .safetensors, .gguf, .ckpt, .pt (default: the one that ships)", "PATH");
  app.add_option("-o,--output", o.output,
                 "further pictures: _2, _3, ...; or %d, %03d in it is the number, from 0 (default: output.png)")
      ->type_name("FILE.png");
  add_device_flags(app, o.device);
  app.add_option("--precision", o.precision, "of activations: auto, f32, f16, bf16 (default: auto)")->type_name("TYPE");
  app.add_flag("--strict", o.strict, "a result that is not finite is an error at once, without a retry in f32");
  app.add_option("--weight-cache", o.weight_cache,
                 "a folder that keeps weights as the kernels read them: mapped at the next start; changes no byte")
      ->type_name("DIR");
  app.add_option("--profile", o.profile, "write the time of every kernel and copy there, as a Chrome trace")
      ->type_name("FILE.json");
  app.add_flag("-v,--verbose", o.verbose, "say more; twice: debug");
  app.add_option_function<std::string>("-M,--mode", &check_mode, "img_gen (others are not supported yet)")
      ->type_name("NAME");
}

}  // namespace

void add_generate_flags(CLI::App& app, GenerateOptions& options) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_request_flags(app, options);
  add_part_flags(app, options.parts);
  add_preview_flags(app, options.preview);
  add_tiling_flags(app, options.tiling);
  add_engine_flags(app, options);
  add_peer_flags(app, options);
  app.footer(
      std::string("Examples:\n"
                  "  chiaro -p \"a red apple on a blue background\"\n"
                  "  chiaro -m sd-v1-5.safetensors -p \"a lighthouse\" -n blurry -W 512 -H 512 --steps 30 -s 7\n"
                  "  chiaro --diffusion-model z_image_turbo-Q4_K.gguf --llm Qwen3-4B-Q4_K_M.gguf --vae ae.safetensors "
                  "-p \"a cat\"\n"
                  "  chiaro -p \"a cat\" -b 4 -s -1 -o cat_%03d.png     four pictures, random seed\n"
                  "  chiaro --from output.png --steps 40               the same picture, more steps\n"
                  "  echo \"a (small:1.3) boat\" | chiaro -p -           the prompt from standard input\n"
                  "  chiaro -p \"a cat\" --preview proj                   preview.png shows it while it is made\n"
                  "  chiaro -p \"a cat\" -W 2048 -H 2048 --vae-tiling     decoded in tiles, in less memory\n"
                  "  chiaro -p \"a cat\" --backend diffusion=isolated:a --vae-on-cpu\n\n"
                  "Other flags of sd-cli about memory are accepted and named; Chiaro decides those itself.\n"
                  "The paths of the pictures are printed on standard output, all else on standard error.\n") +
      kExitCodeHelp);
}

}  // namespace chiaro::cli
