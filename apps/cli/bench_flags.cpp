// The flags of `chiaro bench`.
#include <CLI/CLI.hpp>

#include "bench_command.h"
#include "device_flags.h"

namespace chiaro::cli {

void add_bench(CLI::App& app, BenchOptions& o) {
  auto* c = app.add_subcommand("bench", "time the stages of models in turn, and the ops that take longest");
  c->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  c->add_option("-m,--model", o.models, "as for generate; may be repeated (default: the one that ships)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("PATH");
  c->add_option(
       "--models", o.standard,
       "Stable Diffusion 1.5 of random weights in f16, q8_0 and q4_K: files in this folder, made where missing "
       "(4.5 GB)")
      ->type_name("FOLDER");
  c->add_option("--diffusion-model", o.parts.diffusion_model, "of a model in parts, as for generate")
      ->type_name("FILE");
  c->add_option("--llm", o.parts.llm, "likewise")->type_name("FILE");
  c->add_option("--vae", o.parts.vae, "likewise")->type_name("FILE");
  c->add_option("-W,--width", o.width, "pixels (default: the model's)")
      ->check(CLI::Range(8, 1 << 16).description(""))
      ->type_name("N");
  c->add_option("-H,--height", o.height, "pixels (default: the model's)")
      ->check(CLI::Range(8, 1 << 16).description(""))
      ->type_name("N");
  c->add_option("--steps", o.steps, "of the sampler, without guidance; times are per step (default: 1)")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("N");
  c->add_option("-r,--rounds", o.rounds, "pictures of each model that are timed, after one that packs (default: 5)")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("N");
  c->add_option("--top", o.top, "how many ops to show of each model; 0: no profile is taken (default: 10)")
      ->check(CLI::Range(0, 1000).description(""))
      ->type_name("N");
  c->add_option("--precision", o.precision, "of activations: auto, f32, f16 or bf16 (default: auto)")
      ->type_name("TYPE");
  c->add_option("--json", o.json, "write all figures there")->type_name("FILE.json");
  add_device_flags(*c, o.device);
  c->footer(
      "\"% peak\" is products and sums by the formula of each op over the multiply-add peak of this run (Winograd "
      "does\n"
      "fewer, so it can exceed 100); \"% roof\" is the time at the ceilings, kernel by kernel the later of memory and\n"
      "arithmetic, over the time taken. Single ops: chiaro ops bench. Against another program: "
      "bench/peers/models.py.\n\n"
      "Examples:\n"
      "  chiaro bench -m sd-v1-5.safetensors -W 512 -H 512\n"
      "  chiaro bench -m sd.safetensors -m sd.q4_K.gguf --rounds 7 --threads 2\n"
      "  chiaro bench --models /tmp/chiaro-bench -W 512 -H 512 --json models.json\n");
}

}  // namespace chiaro::cli
