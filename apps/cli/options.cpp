#include "options.h"

#include <algorithm>
#include <cstdio>

#include "chiaro/chiaro.h"
#include "device_flags.h"
#include "exit_code.h"
#include "generate_flags.h"

namespace chiaro::cli {
namespace {

constexpr const char* kCommands[] = {"generate", "inspect", "compare", "devices", "ops",   "plan",
                                     "run",      "convert", "synth",   "ab",      "bench", "selftest"};

struct Parsed {
  GenerateOptions generate;
  InspectOptions inspect;
  CompareOptions compare;
  DevicesOptions devices;
  OpsOptions ops;
  PlanCommandOptions plan;
  RunCommandOptions run;
  ConvertOptions convert;
  SynthOptions synth;
  AbOptions ab;
  BenchOptions bench;
  SelfTestCommandOptions selftest;
};

void add_inspect(CLI::App& app, InspectOptions& o) {
  auto* c = app.add_subcommand("inspect", "what a model consists of, or how a picture was made");
  c->add_option("file", o.file, "a model, any file of weights (.safetensors, .gguf, .ckpt, .pt, .bin), or a picture")
      ->required()
      ->type_name("FILE");
  c->add_flag("--json", o.json, "as JSON, on standard output");
  c->add_flag("-v,--verbose", o.verbose, "say more; twice: debug");
  c->footer(
      "Examples:\n  chiaro inspect models/tiny\n  chiaro inspect --json sd-v1-5.safetensors\n"
      "  chiaro inspect output.png\n");
}

void add_compare(CLI::App& app, CompareOptions& o) {
  auto* c = app.add_subcommand("compare", "how alike two pictures are: PSNR, SSIM, largest difference");
  c->add_option("a", o.a, "a PNG, JPEG or WebP picture")->required()->type_name("A");
  c->add_option("b", o.b, "another of the same size")->required()->type_name("B");
  c->add_option_function<double>(
       "--min-psnr", [&o](double value) { o.min_psnr = value; }, "exit with 1 where the PSNR is below this many dB")
      ->type_name("X");
  c->footer("Examples:\n  chiaro compare output.png reference.png --min-psnr 40\n");
}

void add_devices(CLI::App& app, DevicesOptions& o) {
  auto* c = app.add_subcommand("devices", "the devices that can run models, and what they can do");
  c->add_option("-t,--threads", o.threads, "0: one per available core")
      ->check(CLI::Range(0, 1024).description(""))
      ->type_name("N");
  c->add_option("--devices", o.devices, "further ones, as generate takes them")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("LIST");
  c->footer("Examples:\n  chiaro devices\n  chiaro devices --devices softmetal:apple7\n");
}

void add_ops(CLI::App& app, OpsOptions& o) {
  auto* c = app.add_subcommand("ops", "the operations: what there is, whether it is right, how fast it is");
  c->require_subcommand(1);
  c->footer(
      "Examples:\n  chiaro ops list\n  chiaro ops show group_norm\n  chiaro ops test group_norm silu\n"
      "  chiaro ops bench conv2d\n");
  const auto add = [&](const char* name, const char* help, OpsOptions::Action action, const char* example) {
    auto* sub = c->add_subcommand(name, help);
    sub->callback([&o, action] { o.action = action; });
    sub->footer(std::string("Examples:\n  chiaro ops ") + example + "\n");
    return sub;
  };
  const auto add_run = [&](CLI::App* sub) {
    sub->add_option("ops", o.ops, "only these (default: all)")->type_name("OP");
    sub->add_option("-d,--device", o.device, "the device (default: cpu)")->type_name("NAME");
    sub->add_option("-t,--threads", o.threads, "0: one per available core")
        ->check(CLI::Range(0, 1024).description(""))
        ->type_name("N");
  };
  add("list", "every operation and the kernels it has", OpsOptions::Action::list, "list")
      ->add_flag("--markdown", o.markdown, "the whole catalogue with what every kernel takes, as Markdown");
  auto* show = add("show", "all about one operation", OpsOptions::Action::show, "show group_norm");
  show->add_option("op", o.ops, "its name")->required()->expected(1)->type_name("OP");
  add_run(add("test", "compare the kernels with the double-precision references; exit with 1 where one differs",
              OpsOptions::Action::test, "test -d cpu group_norm silu"));
  auto* bench = add("bench", "time the kernels at the sizes of Stable Diffusion and of transformers",
                    OpsOptions::Action::bench, "bench --type f16 conv2d matmul");
  add_run(bench);
  bench->add_option("--type", o.type, "of activations and weights: f32, f16 or bf16 (default: f32)")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}).description(""))
      ->type_name("TYPE");
  bench->add_flag("--markdown", o.markdown, "as a table in Markdown");
}

void add_skip(CLI::App& app, std::vector<std::string>& skip) {
  app.add_option("--skip", skip, "a pass of the planner, or a rewrite of fuse, to leave out; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("NAME");
}

void add_plan(CLI::App& app, PlanCommandOptions& o) {
  auto* c =
      app.add_subcommand("plan", "how a stage of a model, or a graph in a file, would run: devices, steps, memory");
  c->add_option("graph", o.graph, "a graph as text (see src/graph/text.h), instead of a model")
      ->type_name("FILE.graph");
  c->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  c->add_option("-m,--model", o.model, "as for generate (default: the one that ships)")->type_name("PATH");
  c->add_option("--stage", o.stage, "encode, sample or decode (default: sample)")
      ->check(CLI::IsMember({"encode", "sample", "decode"}).description(""))
      ->type_name("NAME");
  c->add_option("-W,--width", o.width, "pixels (default: the model's)")->type_name("N");
  c->add_option("-H,--height", o.height, "pixels (default: the model's)")->type_name("N");
  add_device_flags(*c, o.device);
  add_skip(*c, o.skip);
  c->add_flag("--json", o.json, "the whole plan as JSON");
  c->add_option("--svg", o.svg, "also draw the memory of every device over time")->type_name("FILE.svg");
  c->footer(
      "Examples:\n  chiaro plan --stage decode --svg memory.svg\n  chiaro plan block.graph --json\n"
      "  chiaro plan --backend te=cpu,diffusion=isolated:a,vae=cpu\n"
      "  chiaro plan block.graph --devices isolated:a,no=group_norm --devices cpu\n");
}

void add_run(CLI::App& app, RunCommandOptions& o) {
  auto* c =
      app.add_subcommand("run", "run a graph in a file with seeded inputs, and print each output's hash and range");
  c->add_option("graph", o.graph, "a graph as text (see src/graph/text.h)")->required()->type_name("FILE.graph");
  c->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  c->add_option("-s,--seed", o.seed, "of inputs, weights and constants (default: 42)")->type_name("N");
  add_device_flags(*c, o.device);
  add_skip(*c, o.skip);
  c->add_option("--time", o.again, "run it N times more and print the median time on standard error")
      ->check(CLI::Range(0, 1000000).description(""))
      ->type_name("N");
  c->add_flag("--serial", o.serial, "one device after the other; memory of the others is out of reach meanwhile");
  c->add_option("--profile", o.profile, "write the time of every kernel and copy there, as a Chrome trace")
      ->type_name("FILE.json");
  c->footer(
      "Inputs, weights and constants are filled with values that depend on the seed, the tensor's name and the\n"
      "element alone: from -1 to 1 for floating types, 0 or 1 for whole numbers. A custom op names its function:\n"
      "identity, negate, twice or sum. A line of output: name, type, the first 16 digits of the SHA-256 of its\n"
      "bytes, least, greatest and mean value. Exits with 4 where a value is not finite.\n\n"
      "Examples:\n  chiaro run block.graph --seed 7\n"
      "  chiaro run block.graph --devices isolated:a,no=group_norm --devices cpu --serial\n");
}

void add_convert(CLI::App& app, ConvertOptions& o) {
  auto* c = app.add_subcommand("convert", "write a model's weights in other types, as GGUF or safetensors");
  c->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  c->add_option("-m,--model", o.model, "a checkpoint, GGUF file, PyTorch file or model folder")
      ->required()
      ->type_name("PATH");
  c->add_option("-o,--output", o.output,
                "what to write, by its ending; without one, a model folder becomes a new folder")
      ->required()
      ->type_name("FILE.gguf|FILE.safetensors|FOLDER");
  c->add_option("--type", o.type, "f32, f16, bf16, f8_e4m3, f8_e5m2, q8_0, q4_K, ... (default: types stay)")
      ->type_name("TYPE");
  c->add_option("--tensor-type", o.rules, "a type for tensors by name; the first that matches wins; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->type_name("REGEX=TYPE");
  c->add_flag("--join-rows", o.join_rows, "join the rows of convolutions, so that blocks divide them");
  c->add_flag("--report-error", o.report_error, "print the error of every tensor that changed");
  c->add_option("-t,--threads", o.threads, "0: one per available core")
      ->check(CLI::Range(0, 1024).description(""))
      ->type_name("N");
  c->footer(
      "Examples:\n  chiaro convert -m sd-v1-5.safetensors -o sd-v1-5.q8_0.gguf --type q8_0\n"
      "  chiaro convert -m model.ckpt -o model.safetensors\n"
      "  chiaro convert -m sd.safetensors -o sd.gguf --type q4_K --tensor-type 'attn.*=q8_0'\n"
      "  chiaro convert -m models/tiny -o tiny-q8 --type q8_0            a folder stays a folder\n"
      "  chiaro convert -m sd-turbo-folder -o sd-turbo.safetensors      or becomes one file\n");
}

void add_synth(CLI::App& app, SynthOptions& o) {
  auto* c = app.add_subcommand("synth", "write a checkpoint of random weights, with the real names and shapes");
  c->add_option("model", o.model,
                "sd15, sd21, sd-turbo, taesd, or a part: zimage, qwen3-4b, flux-vae; qwen-image, qwen2.5-vl-7b, "
                "qwen-image-vae")
      ->required()
      ->type_name("MODEL");
  c->add_option("out", o.out, "FILE.safetensors, FILE.gguf, or a folder to be made")->required()->type_name("OUT");
  c->add_option("--type", o.type, "of the weights: f16, f32, bf16, f8_e4m3, for GGUF q8_0, q4_K, ... (default: f16)")
      ->type_name("TYPE");
  c->add_option("-s,--seed", o.seed, "of the weights (default: 0)")->type_name("N");
  const auto least_one = CLI::Range(1, 1 << 20).description("");  // 0 would be "as published"
  c->add_option("--layers", o.size.layers, "of a transformer (default: as published)")
      ->check(least_one)
      ->type_name("N");
  c->add_option("--width", o.size.width, "of a part's tokens, a multiple of 128; of an autoencoder's first channels")
      ->check(least_one)
      ->type_name("N");
  c->add_option("--context-width", o.size.context_width,
                "of the prompts that zimage and qwen-image read; the width "
                "of their text encoder")
      ->check(least_one)
      ->type_name("N");
  c->add_option("--vocabulary", o.size.vocabulary, "of a text encoder: rows of its table")
      ->check(least_one)
      ->type_name("N");
  c->footer(
      "Examples:\n  chiaro synth sd15 random.safetensors\n  chiaro synth sd-turbo folder --type f8_e4m3\n"
      "  chiaro synth sd15 random.gguf --type q4_K\n"
      "  chiaro synth zimage z.gguf --type q4_K --layers 2\n"
      "  chiaro synth qwen3-4b text.gguf --type q4_K --layers 2           with a tokenizer of bytes\n"
      "  chiaro synth flux-vae vae.safetensors\n"
      "  chiaro --diffusion-model z.gguf --llm text.gguf --vae vae.safetensors -p x   a picture of noise\n");
}

void set_up(CLI::App& app, Parsed& parsed) {
  app.name("chiaro");
  app.set_version_flag("--version", std::string("chiaro ") + std::string(version()));
  app.require_subcommand(1);
  auto* generate = app.add_subcommand("generate", "make pictures from a prompt (also without naming the command)");
  add_generate_flags(*generate, parsed.generate);
  add_inspect(app, parsed.inspect);
  add_compare(app, parsed.compare);
  add_devices(app, parsed.devices);
  add_ops(app, parsed.ops);
  add_selftest(app, parsed.selftest);
  add_plan(app, parsed.plan);
  add_run(app, parsed.run);
  add_convert(app, parsed.convert);
  add_synth(app, parsed.synth);
  add_ab(app, parsed.ab);
  add_bench(app, parsed.bench);
  app.footer(std::string("Without a command, the flags are those of generate: see chiaro generate --help.\n\n"
                         "Examples:\n"
                         "  chiaro -p \"a red apple on a blue background\"\n"
                         "  chiaro -m sd-v1-5.safetensors -p \"a lighthouse\" -W 512 -H 512 --steps 30 -s 7 -o l.png\n"
                         "  chiaro inspect l.png\n"
                         "  chiaro compare l.png other.png --min-psnr 40\n"
                         "  chiaro ops test\n\n") +
             kExitCodeHelp);
}

int refuse(const Error& error) {
  std::fputs((error.format() + "\n").c_str(), stderr);
  return kUsage;
}

// The command the arguments belong to, for the hint at the end of an error.
std::string help_of(const std::vector<std::string>& arguments) {
  return "see: chiaro " + arguments.front() + " --help";
}

Command chosen(const CLI::App& app, Parsed& parsed) {
  if (app.got_subcommand("inspect")) return parsed.inspect;
  if (app.got_subcommand("compare")) return parsed.compare;
  if (app.got_subcommand("devices")) return parsed.devices;
  if (app.got_subcommand("ops")) return parsed.ops;
  if (app.got_subcommand("selftest")) return parsed.selftest;
  if (app.got_subcommand("plan")) return parsed.plan;
  if (app.got_subcommand("run")) return parsed.run;
  if (app.got_subcommand("convert")) return parsed.convert;
  if (app.got_subcommand("synth")) return parsed.synth;
  if (app.got_subcommand("ab")) return parsed.ab;
  if (app.got_subcommand("bench")) return parsed.bench;
  return parsed.generate;
}

}  // namespace

std::variant<Command, int> parse_arguments(std::vector<std::string> arguments) {
  Parsed parsed;
  CLI::App app("Chiaro: from a prompt to a picture, on whatever processors a machine has.");
  set_up(app, parsed);
  if (arguments.empty()) {
    std::fputs(app.help().c_str(), stderr);
    return refuse({ErrorCode::usage, "nothing to do", "no prompt and no command was given",
                   "chiaro -p \"a red apple on a blue background\"", ""});
  }
  const std::string first = arguments.front();
  const bool command = std::find(std::begin(kCommands), std::end(kCommands), first) != std::end(kCommands);
  const bool about = first == "-h" || first == "--help" || first == "--version";
  if (!command && !about && !first.starts_with('-')) {
    return refuse(
        {ErrorCode::usage, "there is no command \"" + first + "\"",
         "the commands are generate, inspect, compare, devices, ops, plan, run, convert, synth, ab, bench, selftest",
         "a prompt goes behind -p: chiaro -p \"" + first + "\"", ""});
  }
  if (!command && !about) arguments.insert(arguments.begin(), "generate");
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    app.parse(reversed);
  } catch (const FlagRefused& refused) {
    return refuse(refused.error);
  } catch (const CLI::Success& success) {
    return app.exit(success) == 0 ? int{kOk} : int{kInternal};
  } catch (const CLI::ParseError& error) {
    return refuse({ErrorCode::usage, error.what(), "", help_of(arguments), ""});
  }
  return chosen(app, parsed);
}

}  // namespace chiaro::cli
