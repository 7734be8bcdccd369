#include "device_flags.h"

namespace chiaro::cli {
namespace {

// One value per flag; the flag may be repeated.
CLI::Option* add_list(CLI::App& app, const char* name, std::vector<std::string>& out, const std::string& help) {
  return app.add_option(name, out, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
}

}  // namespace

void add_device_flags(CLI::App& app, DeviceOptions& o) {
  app.add_option("-t,--threads", o.threads, "0: one per available core; changes speed, never a byte (default: 0)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024).description(""));
  add_list(app, "--devices", o.devices,
           "what may run, in order of preference, with commas or repeated: cpu, metal0 on a Mac, or a test\n"
           "device as isolated:NAME[,no=OP+OP][,budget=64M][,delay=5ms], softgpu:PROFILE or\n"
           "softmetal:PROFILE[,checks=off] (default: cpu, and what --backend names)")
      ->type_name("LIST");
  add_list(app, "--backend", o.backend,
           "what runs where: te=DEVICE,diffusion=DEVICE,vae=DEVICE, all=DEVICE for the rest; A&B splits\n"
           "the layers of a module; weight:PATTERN=DEVICE places weights by name. What a device cannot\n"
           "run moves to another, and is reported")
      ->type_name("LIST");
  app.add_flag("--clip-on-cpu", o.clip_on_cpu, "the text encoder on the CPU: --backend te=cpu");
  app.add_flag("--vae-on-cpu", o.vae_on_cpu, "the decoder on the CPU: --backend vae=cpu");
  add_list(app, "--disable-op", o.disabled_ops, "OP or OP@DEVICE: do without its kernels; may be repeated")
      ->type_name("OP");
  app.add_flag_function(
      "--no-fuse,!--fuse", [&o](int64_t count) { o.no_fuse = count > 0; },
      "run the model op by op, as it is written (--fuse: not so, where --from says it)");
}

}  // namespace chiaro::cli
