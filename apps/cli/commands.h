// The program's commands: what each was asked for, and the function that does it. Each returns the exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chiaro::cli {

// What generate, plan and run are told about devices and planning.
struct DeviceOptions {
  std::vector<std::string> devices, backend;  // as given, each a list with commas
  bool clip_on_cpu = false, vae_on_cpu = false;
  std::vector<std::string> disabled_ops;
  std::optional<bool> no_fuse;
  int threads = 0;

  std::string device_list() const;  // as LoadOptions::devices
  // As LoadOptions::backend; `otherwise` where no --backend was given.
  std::string placement(const std::string& otherwise = "") const;
};

// Parts of a model in files of their own: sd-cli's flags.
struct PartOptions {
  std::string diffusion_model, vae, clip_l, clip_g, t5xxl, llm, taesd, prediction;
  bool taesd_preview_only = false;
};

// sd-cli's flags about pictures that are not finished.
struct PreviewFlags {
  std::string kind = "none";  // proj, tae, vae
  std::string path = "./preview.png";
  int interval = 1;
  bool noisy = false;
};

// Whether and how the decoder works in tiles; what was not given stays as it is.
struct TilingFlags {
  std::optional<std::string> mode;  // on, off, auto
  std::optional<int> width, height;
  std::optional<double> overlap;
};

struct GenerateOptions {
  PartOptions parts;
  TilingFlags tiling;
  PreviewFlags preview;
  std::optional<std::string> model, prompt, negative_prompt, sampling_method, schedule, rng, precision;
  std::optional<int> width, height, steps, clip_skip;
  std::optional<double> cfg_scale, flow_shift, eta;
  std::optional<uint64_t> seed;
  bool random_seed = false;
  int batch_count = 1, batch_size = 1, verbose = 0;
  std::string output = "output.png", profile, from, weight_cache;
  DeviceOptions device;
  bool strict = false;
  std::vector<std::string> without_effect;  // sentences about flags that were accepted and do nothing
};

struct InspectOptions {
  std::string file;
  bool json = false;
  int verbose = 0;
};

struct CompareOptions {
  std::string a, b;
  std::optional<double> min_psnr;
};

struct DevicesOptions {
  std::vector<std::string> devices;  // further ones, as given, each a list with commas
  int threads = 0;
};

struct OpsOptions {
  enum class Action { list, show, test, bench } action = Action::list;
  std::string device = "cpu";
  std::vector<std::string> ops;
  int threads = 0;
  std::string type = "f32";  // bench: of activations and weights
  bool markdown = false;     // list: the page docs/generated/ops.md; bench: a table
};

struct PlanCommandOptions {
  std::optional<std::string> model;
  std::string stage = "sample", graph, svg;  // graph: a file to plan instead of a model's stage
  int width = 0, height = 0;
  DeviceOptions device;
  std::vector<std::string> skip;  // passes and rewrites that are left out
  bool json = false;
};

struct RunCommandOptions {
  std::string graph, profile;
  uint64_t seed = 42;
  int again = 0;  // further runs, timed
  DeviceOptions device;
  std::vector<std::string> skip;
  bool serial = false;
};

int run_generate(const GenerateOptions& options);
int run_inspect(const InspectOptions& options);
int run_compare(const CompareOptions& options);
int run_devices(const DevicesOptions& options);
int run_ops(const OpsOptions& options);
int run_plan(const PlanCommandOptions& options);
int run_graph(const RunCommandOptions& options);

}  // namespace chiaro::cli
