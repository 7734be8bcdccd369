// Chiaro: from a prompt to a picture. The C++ API that the program itself uses.
//
//   auto session = chiaro::Session::load({.model = "models/tiny"});
//   if (!session.ok()) { std::cerr << session.error().format(); return; }
//   auto result = (*session)->generate({.prompt = "a red apple on a blue background"}, {});
//
// Ownership: a Session owns its threads, devices and weights; results own their pixels.
// Thread rule: one generate() at a time per Session (a second call waits); several Sessions may run at once;
// a cancel flag may be set from any thread or a signal handler.
// Errors are values (chiaro/error.h). Nothing throws, nothing ends the process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chiaro/error.h"

namespace chiaro {

std::string_view version();

// Where log lines go; categories and levels as in `-v`. May be called from any thread, one line at a time.
enum class Severity : int { debug, info, notice, warning, error };
using LogSink = std::function<void(Severity, std::string_view category, std::string_view line)>;

class Allocator;  // core/memory.h: tests count, poison and refuse with it

// (Every field has an initialiser, so that naming some of them compiles without warnings.)
// Parts of a model in files (or component folders) of their own, UTF-8 paths, as the flags of sd-cli name them. A part
// wins over what `model` has in its place; parts that no supported family uses are refused by name.
struct ModelParts {
  std::string diffusion_model = {}, vae = {}, clip_l = {}, clip_g = {}, t5xxl = {}, llm = {}, taesd = {};
  bool operator==(const ModelParts&) const = default;
};

struct LoadOptions {
  std::string model = {};  // UTF-8 path: a diffusers folder or a single checkpoint file; may be empty with all parts
  ModelParts parts = {};
  bool taesd_preview_only = false;  // parts.taesd makes previews, not the finished pictures
  std::string prediction = {};      // "epsilon" or "v": wins over what the model says; empty: the model's
  int threads = 0;                  // 0: one per available core
  LogSink log = {};                 // empty: silent
  Severity log_level = Severity::notice;
  std::vector<std::string> disabled_ops = {};  // "OP" or "OP@DEVICE"
  std::string precision = "auto";              // of activations: "auto" (f32 on the CPU), "f32", "f16", "bf16"
  bool fuse = true;                            // off: run the models op by op, as they are written
  // Devices in order of preference, each with its options: "cpu", "isolated:NAME[,budget=64M][,no=OP]" (for tests).
  // Empty: the CPU, and what `backend` names. The CPU is always among them.
  std::string devices = {};
  // What runs where: "te=cpu,diffusion=isolated:a&cpu,vae=cpu" for the text encoder, the network and the decoder (&:
  // its layers are split by free memory), "all=DEVICE" for the rest, "weight:PATTERN=DEVICE" for weights by name (* and
  // ?). A preference: nodes that a device cannot run move to another, with a notice. Empty: devices in their order.
  std::string backend = {};
  // UTF-8 path of a folder, made where it is missing, for cache files of weights in the layout that kernels read:
  // written once, mapped by every later Session of any process, in place of packing. Changes no byte of a picture; a
  // file that does not fit, or cannot be written, is a notice in the log. Empty: none.
  std::string weight_cache = {};
  // The Session is for one generate(): packed weights that no later stage of it reads are given back at once. Else they
  // are held for the next picture, until memory is short for another stage, or trim().
  bool one_request = false;
  std::shared_ptr<Allocator> allocator = {};  // null: the system's
};

// What a Session was loaded with, as far as bytes of its pictures depend on it. Fields as in LoadOptions.
struct EngineSettings {
  bool fuse = true;
  std::vector<std::string> disabled_ops = {};
  std::string devices = {}, backend = {};
  ModelParts parts = {};  // without a TAESD that makes previews alone
  std::string prediction = {};
  bool operator==(const EngineSettings&) const = default;
};

// The model's own: 20 steps and a guidance of 7 (Z-Image: 5, Qwen-Image: 4), or the few steps without guidance that a
// distilled model (SD-Turbo, Z-Image-Turbo) is made for.
inline constexpr int kModelsSteps = std::numeric_limits<int>::min();
inline constexpr double kModelsGuidance = std::numeric_limits<double>::lowest();
// The model's own shift of noise levels, which may depend on the size of the picture.
inline constexpr double kModelsShift = 0;

// The decoder in overlapping tiles: less memory, and not the same bytes, since its norms and its attention see a tile
// where they saw the picture.
enum class Tiling : int {
  automatic,  // where the whole picture does not fit the devices' budgets, or memory runs out
  on,
  off,  // never: running out of memory is then an error
};
struct VaeTiling {
  Tiling mode = Tiling::automatic;
  // Latents (most are 8 pixels), 4 or more; 0: 64, or less where that does not fit either. A picture that is no larger
  // is decoded whole.
  int tile_width = 0, tile_height = 0;
  double overlap = 0.5;  // the least part of a tile that the next one shares, 0 to 0.5
  bool operator==(const VaeTiling&) const = default;
};

struct GenerateRequest {
  // UTF-8. For CLIP with webui syntax: (word:1.2), [word], BREAK; for language models literal.
  std::string prompt = {}, negative_prompt = {};
  int width = 0, height = 0;  // pixels; 0: what the model was trained at. Any size >= 8
  int steps = kModelsSteps;
  double cfg_scale = kModelsGuidance;  // 1 switches guidance off
  uint64_t seed = 42;
  bool random_seed = false;          // draw a seed; the result says which
  int batch_count = 1;               // picture i uses seed + i
  int batch_size = 1;                // pictures computed together; changes speed and memory, never a byte
  std::string sampling_method = {};  // empty: what the model's scheduler config names, else euler_a
  double flow_shift = kModelsShift;  // above 0: of models of flows, in place of their own
  std::string schedule = {};         // empty or "discrete", "karras"
  std::string rng = "cuda";          // "cuda" or "cpu": whose normals a seed gives
  double eta = 1.0;                  // of ancestral samplers
  int clip_skip = 0;                 // 0 or 1: the last layer; 2: the one before
  std::string precision = {};        // of activations; empty: the Session's (LoadOptions::precision)
  bool strict = false;               // a non-finite stage is an error at once, without a retry in f32
  VaeTiling vae_tiling = {};
  // Of the Session that made it: filled in by generate() for results and pictures. A request's own is not read: load a
  // Session with these settings to repeat a run.
  EngineSettings engine = {};
};

enum class Stage : int { load, encode, sample, decode, save };
std::string_view stage_name(Stage stage);

struct Progress {
  Stage stage = Stage::load;
  int picture = 0, pictures = 1;  // the first picture of the group being computed
  int step = 0, steps = 0;        // of this stage; of decoding: pictures, or their tiles
  double seconds = 0;             // since this stage began
  // While a cache file of weights is written (LoadOptions::weight_cache): of so many bytes so many are. Else 0.
  int64_t cache_written = 0, cache_bytes = 0;
};

// A latent after a step, for tests and previews: [N,C,h,w] f32 in the model's latent space.
struct LatentView {
  const float* data = nullptr;
  int64_t pictures = 0, channels = 0, height = 0, width = 0;
  int step = 0;
};

// One kernel launch or copy between devices ("copy": label is what it brings, kernel how it goes).
struct OpTime {
  std::string_view stage, op, label, kernel;
  double seconds = 0;
  std::string_view device = {};  // whose queue ran it
  std::chrono::steady_clock::time_point start = {};
  int64_t bytes = 0;  // copied, or the least that the kernel must read and write
  double flops = 0;   // of the kernel's formula, whatever way it takes
};

struct Picture {
  int width = 0, height = 0;
  uint64_t seed = 0;
  std::vector<uint8_t> rgb;  // width * height * 3, row by row
  VaeTiling tiling = {};     // how it was decoded: `on` with the size of its tiles, else whole
};

// How a picture that is not finished is shown. None of them changes a byte of the finished one.
enum class PreviewKind : int {
  none,
  proj,  // latents to colours by a linear map, fitted once to the model's decoder: costs next to nothing
  tae,   // by the TAESD of LoadOptions::parts
  vae,   // by the model's own decoder: as slow as decoding the picture
};
struct PreviewOptions {
  PreviewKind kind = PreviewKind::none;
  int interval = 1;    // after every so many steps
  bool noisy = false;  // the latents themselves; else what the network takes them for without their noise
};

struct Callbacks {
  std::function<void(const Progress&)> on_progress = {};  // on the calling thread
  std::function<void(const LatentView&)> on_latent = {};  // after every step (step 0: the start)
  std::function<void(const OpTime&)> on_op = {};          // a profile: every kernel launch and copy
  // As soon as picture `index` is finished, on the calling thread; an error ends the run with it. What was handed out
  // here is not lost by a later error or cancel.
  std::function<Status(const Picture&, int index, const GenerateRequest& used)> on_picture = {};
  PreviewOptions preview = {};
  // A preview of picture `index` (the first of those computed together), in the picture's size. An error ends the
  // previews, not the run, and becomes a notice.
  std::function<Status(const Picture&, int index, int step)> on_preview = {};
  const std::atomic<bool>* cancel = nullptr;  // true: stop within a kernel, error "cancelled"
};

struct StageTime {
  Stage stage = Stage::load;
  double seconds = 0;
};

struct GenerateResult {
  std::vector<Picture> pictures;
  // The request with every default filled in (size, sampler, seed of the first picture).
  GenerateRequest used;
  std::string model_name;
  std::vector<StageTime> times;
  int64_t peak_bytes = 0;            // most memory held at once by arenas, inputs, staged and packed weights
  int64_t weight_bytes = 0;          // of the weights in use (mapped from their files)
  std::vector<std::string> notices;  // what was cut, ignored or retried, each a sentence
};

// Writes a picture as PNG; its text chunks hold the request (`used`, as the result says) and `model`, so that
// `chiaro --from` can repeat the run. The file appears whole or not at all. `path` is UTF-8. Errors: io.
Status save_picture(const std::string& path, const Picture& picture, const GenerateRequest& used,
                    const std::string& model);

// What a model consists of, for `inspect` and errors.
struct ComponentInfo {
  std::string role;    // "text encoder", "diffusion", "vae"
  std::string family;  // "CLIP-L", "UNet SD1.x", "AutoencoderKL", "Qwen3"
  int64_t tensors = 0, parameters = 0, bytes = 0;
  std::vector<std::pair<std::string, int64_t>> dtypes;  // name, tensors
};
struct ModelInfo {
  std::string path, family, kind;  // kind: "diffusers folder", "single file"
  std::vector<ComponentInfo> components;
  std::vector<std::string> unused, missing, skipped;  // tensor names (skipped: "name: reason")
  std::string prediction, default_sampler;
  int default_width = 0, default_height = 0;
};

class Session {
 public:
  // Errors: bad_file, io, unsupported, out_of_memory, usage.
  static Result<std::shared_ptr<Session>> load(const LoadOptions& options);
  virtual ~Session() = default;

  // Errors: usage, out_of_memory, non_finite (naming the stage), cancelled, internal. After any error the Session is
  // as before and the next call is right.
  virtual Result<GenerateResult> generate(const GenerateRequest& request, const Callbacks& callbacks = {}) = 0;
  virtual const ModelInfo& info() const = 0;
  // Bytes held now by arenas, staged and packed weights of cached plans; trim() gives them back.
  virtual int64_t held_bytes() const = 0;
  virtual void trim() = 0;
};

}  // namespace chiaro
