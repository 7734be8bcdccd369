#include "pipeline/flow_assembly.h"

#include <fmt/format.h>

#include "core/utf8_path.h"
#include "models/config_reader.h"
#include "models/flow_model.h"
#include "models/qwen_image/model.h"
#include "models/qwen_text/model.h"
#include "models/taesd/model.h"
#include "models/zimage/model.h"
#include "pipeline/step_graph.h"
#include "weights/printable.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;
using models::Family;

constexpr int kDefaultSide = 1024;  // pixels, that both families were trained at

// The schedules that the models were published with, for files, which do not say.
FlowConfig published_schedule(Family family, bool turbo) {
  FlowConfig flow;
  if (family == Family::zimage) {
    flow.shift = turbo ? 3 : 6;
    return flow;
  }
  flow.dynamic = true;
  flow.most_shift = 0.9;
  flow.most_tokens = 8192;
  flow.terminal = 0.02;
  return flow;
}

bool holds_tokenizer(const fs::path& folder) {
  std::error_code ec;
  return fs::is_regular_file(folder / "tokenizer.json", ec) || fs::is_regular_file(folder / "vocab.json", ec);
}

// In the text encoder's own file or folder, beside that folder (as in a diffusers folder), or the model's.
Result<QwenTokenizer> find_tokenizer(const ModelComponent& text, const ModelSource& source) {
  if (text.gguf.find("tokenizer.ggml.tokens") != nullptr) {
    auto read = QwenTokenizer::from_gguf(text.gguf);
    if (!read.ok() && !text.files.empty()) {
      return std::move(read).error().at(printable_path(path_to_utf8(text.files.front())));
    }
    return read;
  }
  if (holds_tokenizer(text.folder)) return QwenTokenizer::load_folder(text.folder);
  const fs::path beside = text.folder.parent_path() / "tokenizer";
  if (text.config && holds_tokenizer(beside)) return QwenTokenizer::load_folder(beside);
  const auto own = source.tokenizers.find("tokenizer");
  if (own != source.tokenizers.end()) return QwenTokenizer::load_folder(own->second.folder);
  return Error{ErrorCode::bad_file, "the text encoder has no tokenizer",
               "its file has none in its metadata, and there is no tokenizer.json beside it",
               "put the model's tokenizer.json beside the file, or use a GGUF file of the text encoder",
               printable_path(path_to_utf8(text.files.empty() ? text.folder : text.files.front()))};
}

std::string first_file(const ModelComponent* files) {
  if (files == nullptr || files->files.empty()) return {};
  return path_to_utf8(files->files.front());
}

Status in_file(Status checked, const std::string& file) {
  if (checked.ok() || file.empty()) return checked;
  return std::move(checked).error().at(file);
}
template <class T>
Status in_file(const Result<T>& built, const std::string& file) {
  return built.ok() ? Status() : in_file(Status(Error(built.error())), file);
}

ComponentInfo text_info(const models::FlowModel& found) {
  return describe_component("text encoder", found.text.config.qk_norm ? "Qwen3" : "Qwen2.5-VL text model",
                            found.text.weights);
}

void set_denoiser(Assembly& a, models::FlowModel& found) {
  const std::string name(models::family_name(found.family));
  std::visit(
      [&](auto& network) {
        a.info.components.push_back(describe_component("diffusion", name, network.weights));
        a.flow->denoiser = network.config;
        a.denoiser_weights = std::make_unique<nn::MapSource>(std::move(network.weights));
      },
      found.denoiser);
}

void set_vae(Assembly& a, models::FlowModel& found) {
  a.has_vae = found.has_vae;
  if (auto* wan = std::get_if<models::Network<models::WanVaeConfig>>(&found.vae)) {
    if (a.has_vae) a.info.components.push_back(describe_component("vae", "Wan autoencoder", wan->weights));
    a.flow->wan_vae = wan->config;
    a.vae_weights = std::make_unique<nn::MapSource>(std::move(wan->weights));
    return;
  }
  auto& flux = std::get<models::Network<models::VaeConfig>>(found.vae);
  if (a.has_vae) a.info.components.push_back(describe_component("vae", "AutoencoderKL", flux.weights));
  a.vae = flux.config;
  a.vae_weights = std::make_unique<nn::MapSource>(std::move(flux.weights));
}

void set_networks(Assembly& a, models::FlowModel found) {
  a.flow.emplace();
  a.flow->family = found.family;
  a.flow->text = found.text.config;
  a.flow->text_file = first_file(found.text_files);
  a.flow->denoiser_file = first_file(found.denoiser_files);
  a.flow->vae_file = first_file(found.vae_files);
  a.info.components = {text_info(found)};
  a.text_weights = std::make_unique<nn::MapSource>(std::move(found.text.weights));
  set_denoiser(a, found);
  set_vae(a, found);
  if (!found.taesd) return;
  a.info.components.push_back(describe_component("small decoder", "TAESD", found.taesd->weights));
  a.taesd = found.taesd->config;
  a.taesd_weights = std::make_unique<nn::MapSource>(std::move(found.taesd->weights));
}

// Z-Image reads the states before the last layer, not normed; Qwen-Image the last ones.
int64_t skipped_layers(const FlowNetworks& flow) {
  return flow.family == Family::zimage ? 1 : 0;
}

// Turbo is the base model's network with other weights: the name says it, or a folder's schedule.
void set_defaults(Assembly& a, bool turbo) {
  a.info.family = std::string(models::family_name(a.flow->family)) + (turbo ? "-Turbo" : "");
  a.info.default_sampler = "euler";
  a.default_steps = turbo ? 8 : 20;
  a.default_guidance = turbo ? 1 : (a.flow->family == Family::zimage ? 5 : 4);
}

Error misfit(const Assembly& a, std::string what, std::string why) {
  return {ErrorCode::bad_file, std::move(what), std::move(why), "take all parts of one model", a.info.path};
}

}  // namespace

int64_t FlowNetworks::patch() const {
  return std::visit([](const auto& c) { return c.patch; }, denoiser);
}

int64_t FlowNetworks::context_width() const {
  return std::visit([](const auto& c) { return c.context_width; }, denoiser);
}

int64_t FlowNetworks::latent_channels() const {
  if (const auto* zimage = std::get_if<models::ZImageConfig>(&denoiser)) return zimage->in_channels;
  return std::get<models::QwenImageConfig>(denoiser).out_channels;
}

Status read_flow_model(Assembly& a, const ModelSource& source, const AssembleRequest& request, Log& log) {
  if (request.prediction) {
    return Error{ErrorCode::usage, "--prediction has no use", "models of flows predict flows", "leave it out", ""};
  }
  CHIARO_ASSIGN(models::FlowModel found, models::find_flow_model(source));
  if (!found.has_vae && request.taesd_preview_only) {
    return Error{ErrorCode::usage, "the model has no decoder", "its TAESD is to make previews only", "give --vae FILE",
                 "--taesd-preview-only"};
  }
  CHIARO_ASSIGN(QwenTokenizer tokenizer, find_tokenizer(*found.text_files, source));
  bool turbo = found.turbo;
  FlowConfig schedule = published_schedule(found.family, turbo);
  if (source.scheduler) {
    CHIARO_ASSIGN(schedule, read_flow_config(*source.scheduler));
    turbo = turbo || (found.family == Family::zimage && !schedule.dynamic && schedule.shift <= 3);
  }
  schedule.reversed = found.family == Family::zimage;
  const bool encoder = found.taesd && found.taesd->encoder;
  set_networks(a, std::move(found));
  a.flow->tokenizer = std::move(tokenizer);
  a.flow->schedule = schedule;
  a.taesd_decodes = a.taesd && !request.taesd_preview_only;
  if (encoder) CHIARO_TRY(models::build_taesd_encoder(*a.taesd, *a.taesd_weights, {}));  // known, if not of use yet
  set_defaults(a, turbo);
  a.info.kind = source.kind == ModelKind::diffusers_folder ? "diffusers folder"
                : source.kind == ModelKind::parts          ? "files of parts"
                                                           : "single file";
  a.info.prediction = "flow";
  a.info.default_width = a.info.default_height = kDefaultSide;
  if (a.flow->family == Family::zimage) {
    log(LogLevel::info, LogCategory::weights, "Z-Image {}: {}", turbo ? "Turbo" : "base",
        source.scheduler ? "by its schedule" : "by the names of its files, where \"turbo\" is looked for");
  }
  return {};
}

Status check_flow_fit(const Assembly& a) {
  const FlowNetworks& f = *a.flow;
  if (static_cast<int64_t>(f.tokenizer->vocab_size()) > f.text.vocabulary) {
    return misfit(a, "tokenizer and text encoder do not fit",
                  fmt::format("{} tokens, but the encoder knows {}", f.tokenizer->vocab_size(), f.text.vocabulary));
  }
  // Qwen3 norms its queries and keys, Qwen2.5-VL does not.
  if (f.text.qk_norm != (f.family == Family::zimage)) {
    return misfit(a, fmt::format("text encoder and {} do not fit", models::family_name(f.family)),
                  f.text.qk_norm ? "it is Qwen3, and Qwen2.5-VL is read" : "it is Qwen2.5-VL, and Qwen3 is read");
  }
  if (f.text.layers <= skipped_layers(f)) {
    return misfit(a, fmt::format("text encoder and {} do not fit", models::family_name(f.family)),
                  fmt::format("{} layer, and the states before the last are read", f.text.layers));
  }
  if (f.text.width != f.context_width()) {
    return misfit(
        a, fmt::format("text encoder and {} do not fit", models::family_name(f.family)),
        fmt::format("the encoder gives {} numbers a token, the denoiser reads {}", f.text.width, f.context_width()));
  }
  if (f.latent_channels() != a.latent_channels()) {
    return misfit(a, "denoiser and autoencoder do not fit",
                  fmt::format("latents of {} channels and of {}", f.latent_channels(), a.latent_channels()));
  }
  const bool taesd_fits = !a.taesd || (!f.wan_vae && a.taesd->latent_channels == a.latent_channels() &&
                                       a.taesd->scale() == a.latent_scale());
  if (taesd_fits) return {};
  return Error{ErrorCode::bad_file, "the TAESD is for other latents",
               fmt::format("{} has latents of {} channels of {}", models::family_name(f.family), a.latent_channels(),
                           f.wan_vae ? "Wan" : "Flux"),
               "use the TAESD that was made for this kind of model", "--taesd"};
}

Status check_flow_networks(Assembly& a) {
  const FlowNetworks& f = *a.flow;
  const int64_t side = f.patch();
  CHIARO_TRY(in_file(build_prompt_states(a, {.length = 1}), f.text_file));
  if (const auto* zimage = std::get_if<models::ZImageConfig>(&f.denoiser)) {
    CHIARO_TRY(in_file(
        models::build_zimage(*zimage, *a.denoiser_weights, {.height = side, .width = side, .context_length = 1}),
        f.denoiser_file));
  } else {
    CHIARO_TRY(in_file(models::build_qwen_image(std::get<models::QwenImageConfig>(f.denoiser), *a.denoiser_weights,
                                                {.height = side, .width = side, .context_length = 1}),
                       f.denoiser_file));
  }
  if (a.taesd) CHIARO_TRY(models::build_taesd_decoder(*a.taesd, *a.taesd_weights, {.height = side, .width = side}));
  if (!a.has_vae) return {};
  const int64_t pixels = side * a.latent_scale();
  CHIARO_TRY(in_file(build_decode(a, {.height = side, .width = side}), f.vae_file));
  return in_file(build_encode(a, {.height = pixels, .width = pixels}), f.vae_file);
}

Status check_flow_size(const Assembly& a, int64_t latent_height, int64_t latent_width) {
  const auto* zimage = std::get_if<models::ZImageConfig>(&a.flow->denoiser);
  if (zimage == nullptr) return {};
  return models::check_zimage_request(*zimage, {.height = latent_height, .width = latent_width, .context_length = 1});
}

Value flow_denoise(GraphBuilder& g, const Assembly& a, Value sample, Value timestep, Value context) {
  const nn::Path root(g, *a.denoiser_weights);
  if (const auto* zimage = std::get_if<models::ZImageConfig>(&a.flow->denoiser)) {
    return models::zimage(root, *zimage, {sample, timestep, context});
  }
  return models::qwen_image(root, std::get<models::QwenImageConfig>(a.flow->denoiser), {sample, timestep, context});
}

Result<Graph> build_prompt_states(const Assembly& a, const PromptStates& request) {
  const int64_t skip = skipped_layers(*a.flow);
  return models::build_qwen_text(
      a.flow->text, *a.text_weights,
      {.length = request.length, .skip = skip, .final_norm = skip == 0, .drop = request.drop, .dtype = request.dtype});
}

Result<FlowConfig> read_flow_config(const JsonConfig& json) {
  models::ConfigReader read(json);
  read.only_text("_class_name", {"FlowMatchEulerDiscreteScheduler"});
  for (const char* key :
       {"invert_sigmas", "use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas", "stochastic_sampling"}) {
    read.only_flag(key, false);
  }
  FlowConfig c;
  c.train_steps = static_cast<int>(read.integer("num_train_timesteps", 1000, 1, 1'000'000));
  c.shift = read.number("shift", 1);
  c.dynamic = read.flag("use_dynamic_shifting", false);
  c.base_shift = read.number("base_shift", 0.5);
  c.most_shift = read.number("max_shift", 1.15);
  c.base_tokens = read.integer("base_image_seq_len", 256, 0);
  c.most_tokens = read.integer("max_image_seq_len", 4096);
  c.terminal = read.number("shift_terminal", 0);
  if (c.dynamic) read.only_text("time_shift_type", {"exponential"});
  read.ignore({"_diffusers_version", "time_shift_type"});
  CHIARO_TRY(read.status());
  Status usable = check_flow(c);
  if (usable.ok()) return c;
  Error error = std::move(usable).error();
  error.code = ErrorCode::bad_file;
  return std::move(error).at(json.where());
}

}  // namespace chiaro
