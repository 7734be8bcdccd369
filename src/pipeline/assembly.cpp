#include "pipeline/assembly.h"

#include <algorithm>
#include <map>

#include "core/utf8_path.h"
#include "models/clip/model.h"
#include "models/flow_model.h"
#include "models/nearest.h"
#include "models/stable_diffusion.h"
#include "models/taesd/model.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "pipeline/clip_vocabulary.h"
#include "pipeline/flow_assembly.h"
#include "weights/printable.h"

namespace chiaro {
namespace {

// Takes the networks over, and what they consist of into the info.
void set_networks(Assembly& a, models::StableDiffusion found) {
  a.info.components = {describe_component("text encoder", "CLIP text model", found.clip.weights),
                       describe_component("diffusion", "UNet", found.unet.weights),
                       describe_component("vae", "AutoencoderKL", found.vae.weights)};
  if (!found.has_vae) a.info.components.pop_back();
  a.has_vae = found.has_vae;
  if (found.taesd) {
    a.info.components.push_back(describe_component("small decoder", "TAESD", found.taesd->weights));
    a.taesd = found.taesd->config;
    a.taesd_weights = std::make_unique<nn::MapSource>(std::move(found.taesd->weights));
  }
  a.clip = found.clip.config;
  a.unet = std::move(found.unet.config);
  a.vae = std::move(found.vae.config);
  a.text_weights = std::make_unique<nn::MapSource>(std::move(found.clip.weights));
  a.denoiser_weights = std::make_unique<nn::MapSource>(std::move(found.unet.weights));
  a.vae_weights = std::make_unique<nn::MapSource>(std::move(found.vae.weights));
}

Result<Prediction> prediction_of(const std::string& text, const JsonConfig& config) {
  if (text == "epsilon") return Prediction::epsilon;
  if (text == "v_prediction") return Prediction::v;
  return Error{ErrorCode::unsupported, "prediction_type \"" + text + "\" is not known", "epsilon and v_prediction are",
               "", config.where()};
}

Result<Spacing> spacing_of(const std::string& text, const JsonConfig& config) {
  if (text == "leading") return Spacing::leading;
  if (text == "linspace") return Spacing::linspace;
  if (text == "trailing") return Spacing::trailing;
  return Error{ErrorCode::unsupported, "timestep_spacing \"" + text + "\" is not known",
               "leading, linspace and trailing are", "", config.where()};
}

// Settings that change the picture and are not computed: refused where they are on.
Status refuse_unread(const JsonConfig& json) {
  for (const char* key : {"clip_sample", "thresholding"}) {
    CHIARO_ASSIGN(const bool on, json.get_bool(key, false));
    if (on) {
      return Error{ErrorCode::unsupported, std::string(key) + " is not supported yet", "the pictures would be wrong",
                   "set it to false where the model allows it", json.where()};
    }
  }
  return {};
}

Result<NoiseConfig> read_noise_config(const JsonConfig& json) {
  NoiseConfig c;
  CHIARO_ASSIGN(const int64_t steps, json.get_int("num_train_timesteps", c.train_steps));
  c.train_steps = static_cast<int>(std::clamp<int64_t>(steps, 0, 1'000'001));
  CHIARO_ASSIGN(c.beta_start, json.get_double("beta_start"));
  CHIARO_ASSIGN(c.beta_end, json.get_double("beta_end"));
  CHIARO_ASSIGN(const std::string betas, json.get_string("beta_schedule"));
  if (betas != "scaled_linear" && betas != "linear") {
    return Error{ErrorCode::unsupported, "beta_schedule \"" + betas + "\" is not known", "scaled_linear and linear are",
                 "", json.where()};
  }
  c.scaled_linear = betas == "scaled_linear";
  if (json.kind("trained_betas") == JsonKind::list) {
    return Error{ErrorCode::unsupported, "trained_betas are not read yet", "the noise schedule would be wrong", "",
                 json.where()};
  }
  CHIARO_TRY(refuse_unread(json));
  CHIARO_ASSIGN(const std::string prediction, json.get_string("prediction_type", "epsilon"));
  CHIARO_ASSIGN(c.prediction, prediction_of(prediction, json));
  CHIARO_ASSIGN(const std::string spacing, json.get_string("timestep_spacing", "leading"));
  CHIARO_ASSIGN(c.spacing, spacing_of(spacing, json));
  CHIARO_ASSIGN(const int64_t offset, json.get_int("steps_offset", 0));
  c.steps_offset = static_cast<int>(std::clamp<int64_t>(offset, 0, 1'000'000));
  CHIARO_ASSIGN(c.final_alpha_one, json.get_bool("set_alpha_to_one", true));
  CHIARO_ASSIGN(c.zero_terminal_snr, json.get_bool("rescale_betas_zero_snr", false));
  return c;
}

// The sampler that a model's own scheduler stands for, by its class.
std::string default_sampler(const std::string& scheduler_class) {
  if (scheduler_class == "DDIMScheduler") return "ddim";
  if (scheduler_class == "EulerDiscreteScheduler") return "euler";
  if (scheduler_class == "DPMSolverMultistepScheduler") return "dpm++2m";
  return "euler_a";
}

// What a folder has beside its networks.
Status read_folder(Assembly& a, const ModelSource& source) {
  const auto tokenizer = source.tokenizers.find("tokenizer");
  if (tokenizer == source.tokenizers.end()) {
    return Error{ErrorCode::bad_file, "the model has no tokenizer", "model_index.json names none",
                 "copy the whole model folder, with tokenizer/vocab.json and merges.txt", source.path.string()};
  }
  CHIARO_ASSIGN(a.tokenizer, ClipTokenizer::load_folder(tokenizer->second.folder));
  if (!source.scheduler) {  // what it was trained to predict, and at which noise, cannot be guessed
    return Error{ErrorCode::bad_file, "the model has no scheduler", "model_index.json names none",
                 "copy the whole model folder, with scheduler/scheduler_config.json", source.path.string()};
  }
  CHIARO_ASSIGN(const NoiseConfig noise, read_noise_config(*source.scheduler));
  Result<NoiseSchedule> schedule = NoiseSchedule::make(noise);
  if (!schedule.ok()) {  // a wrong argument there, a wrong file here
    Error error = std::move(schedule).error();
    error.code = ErrorCode::bad_file;
    return std::move(error).at(source.scheduler->where());
  }
  a.noise = std::move(*schedule);
  a.info.kind = "diffusers folder";
  a.info.default_sampler = default_sampler(source.scheduler_class);
  a.info.family = source.pipeline_class;
  return {};
}

// What a published family has beside its networks, for files, which do not say.
Status use_family_defaults(Assembly& a, models::Family family, const models::StatedPrediction& prediction, Log& log) {
  ClipTokenizerOptions tokens;
  NoiseConfig noise;
  a.info.default_sampler = "euler_a";
  if (family != models::Family::sd1) {
    tokens.pad = "!";  // token 0: OpenCLIP pads with zeros
    noise.prediction = prediction.v ? Prediction::v : Prediction::epsilon;
    a.unet.sample_size = prediction.v ? 96 : 64;  // the models that predict v were trained at 768 pixels
    log(LogLevel::info, LogCategory::weights, "the model predicts {}: {}", prediction.v ? "v" : "the noise",
        prediction.why);
  }
  if (family == models::Family::sd_turbo) {
    noise.spacing = Spacing::trailing;
    a.info.default_sampler = "euler";
  }
  CHIARO_ASSIGN(a.tokenizer, load_clip_vocabulary(tokens));
  CHIARO_ASSIGN(a.noise, NoiseSchedule::make(noise));
  a.info.family = std::string(models::family_name(family));
  return {};
}

// Distilled for 1 to 4 steps without guidance: Sauer et al., arXiv:2311.17042.
void use_turbo_defaults(Assembly& a) {
  a.default_steps = 1;
  a.default_guidance = 1;
}

// A folder of SD-Turbo is like one of SD 2.x, but for its scheduler.
bool is_turbo(const Assembly& a, std::optional<models::Family> family, const ModelSource& source) {
  if (source.kind != ModelKind::diffusers_folder) return family == models::Family::sd_turbo;
  const NoiseConfig& noise = a.noise->config();
  return source.scheduler_class == "EulerDiscreteScheduler" && noise.spacing == Spacing::trailing &&
         noise.prediction == Prediction::epsilon && !noise.zero_terminal_snr;
}

Status read_stable_diffusion(Assembly& a, const ModelSource& source, const AssembleRequest& request, Log& log) {
  CHIARO_ASSIGN(models::StableDiffusion found, models::find_stable_diffusion(source));
  if (!found.has_vae && request.taesd_preview_only) {
    return Error{ErrorCode::usage, "the model has no decoder", "its TAESD is to make previews only", "give --vae FILE",
                 "--taesd-preview-only"};
  }
  const bool encoder = found.taesd && found.taesd->encoder;
  const auto family = found.family;
  const models::StatedPrediction stated = found.prediction;
  const bool folder = source.kind == ModelKind::diffusers_folder;
  if (!folder && !family) {
    return Error{ErrorCode::unsupported,
                 "a UNet that reads texts of " + std::to_string(found.unet.config.top().context) + " numbers a token",
                 "Stable Diffusion 1.x reads 768, 2.x and SD-Turbo 1024",
                 "use the diffusers folder of the model, which has its configuration", source.path.string()};
  }
  set_networks(a, std::move(found));
  a.taesd_decodes = a.taesd && !request.taesd_preview_only;
  if (encoder) CHIARO_TRY(models::build_taesd_encoder(*a.taesd, *a.taesd_weights, {}));  // known, if not of use yet
  CHIARO_TRY(folder ? read_folder(a, source) : use_family_defaults(a, *family, stated, log));
  if (!folder) a.info.kind = source.kind == ModelKind::parts ? "files of parts" : "single file";
  if (is_turbo(a, family, source)) use_turbo_defaults(a);
  if (request.prediction && *request.prediction != a.noise->config().prediction) {
    NoiseConfig noise = a.noise->config();
    noise.prediction = *request.prediction;
    CHIARO_ASSIGN(a.noise, NoiseSchedule::make(noise));
  }
  a.info.prediction = a.noise->config().prediction == Prediction::v ? "v_prediction" : "epsilon";
  a.info.default_width = a.info.default_height = static_cast<int>(a.unet.sample_size * a.vae.scale());
  return {};
}

// Builds every network once, small, so that a missing or misshaped weight is found before any work.
Status check_networks(Assembly& a) {
  const auto side = static_cast<int64_t>(1) << (a.unet.levels.size() - 1);
  CHIARO_TRY(models::build_clip_text(a.clip, *a.text_weights, {.length = a.clip.positions}));
  CHIARO_TRY(models::build_unet(a.unet, *a.denoiser_weights, {.height = side, .width = side}));
  if (a.taesd) CHIARO_TRY(models::build_taesd_decoder(*a.taesd, *a.taesd_weights, {.height = side, .width = side}));
  if (!a.has_vae) return {};
  CHIARO_TRY(models::build_vae_decoder(a.vae, *a.vae_weights, {.height = side, .width = side}));
  CHIARO_TRY(models::build_vae_encoder(a.vae, *a.vae_weights,
                                       {.height = side * a.vae.scale(), .width = side * a.vae.scale()}));
  return {};
}

// `built`: whether every network was; after the first that cannot be, most tensors have not been asked for.
void collect_report(ModelInfo& info, const ModelComponent& component, bool built, Log& log) {
  WeightReport report = component.weights.report();
  if (!built) report.unused.clear();
  info.unused.insert(info.unused.end(), report.unused.begin(), report.unused.end());
  info.missing.insert(info.missing.end(), report.missing.begin(), report.missing.end());
  for (const SkippedTensor& s : report.skipped) info.skipped.push_back(s.name + ": " + s.reason);
  if (const std::string text = report.text(); !text.empty()) {
    log(LogLevel::warning, LogCategory::weights, "{}: {}", component.name, text);
  }
  if (!component.config) return;
  for (const std::string& key : component.config->unused_keys()) {
    log(LogLevel::debug, LogCategory::weights, "{}: \"{}\" was not read", component.config->where(), key);
  }
}

// A weight whose scale nobody reads makes a wrong picture, so it is not only reported.
Status check_scales(const ModelComponent& component) {
  const WeightReport report = component.weights.report();
  if (report.unscaled.empty()) return {};
  return Error{ErrorCode::unsupported, "the scale of " + printable(report.unscaled.front()) + " cannot be applied",
               std::to_string(report.unscaled.size()) + " tensors of " + component.name + " have scales that go unread",
               "use a copy of the model in F16 or BF16", component.folder.string()};
}

template <class F>
void for_each_component(const ModelSource& source, const F& visit) {
  for (const auto& [name, component] : source.components) visit(component);
  for (const auto& [name, part] : source.parts) visit(part);
}

Status check_fit(const Assembly& a) {
  if (static_cast<int64_t>(a.tokenizer->vocab_size()) > a.clip.vocabulary) {
    return Error{ErrorCode::bad_file, "tokenizer and text encoder do not fit",
                 std::to_string(a.tokenizer->vocab_size()) + " tokens, but the encoder knows " +
                     std::to_string(a.clip.vocabulary),
                 "take both from the same model", a.info.path};
  }
  if (a.unet.levels.front().context != a.clip.width) {
    return Error{ErrorCode::bad_file, "text encoder and UNet do not fit",
                 "the encoder gives " + std::to_string(a.clip.width) + " numbers a token, the UNet reads " +
                     std::to_string(a.unet.levels.front().context),
                 "take both from the same model", a.info.path};
  }
  if (a.unet.in_channels != a.vae.latent_channels || a.unet.out_channels != a.vae.latent_channels) {
    return Error{ErrorCode::unsupported, "the UNet's latents are not the vae's",
                 std::to_string(a.unet.in_channels) + " channels in, " + std::to_string(a.unet.out_channels) +
                     " out, the vae has " + std::to_string(a.vae.latent_channels),
                 "inpainting models are not supported yet", a.info.path};
  }
  if (a.taesd && (a.taesd->latent_channels != a.vae.latent_channels || a.taesd->scale() != a.vae.scale())) {
    return Error{ErrorCode::bad_file, "the TAESD is for other latents",
                 std::to_string(a.taesd->latent_channels) + " channels, each for " + std::to_string(a.taesd->scale()) +
                     " pixels a side; the model has " + std::to_string(a.vae.latent_channels) + " for " +
                     std::to_string(a.vae.scale()),
                 "use the TAESD that was made for this kind of model", "--taesd"};
  }
  return {};
}

// Of a model of flows in parts, an error that names a part's file is not said of the denoiser's, too.
Error of_model(Error error, const Assembly& a, const ModelSource& source) {
  const bool part = source.kind == ModelKind::parts && models::is_flow_model(source) && !error.where.empty();
  return part || error.where.ends_with(a.info.path) ? error : std::move(error).at(a.info.path);
}

// Where a network cannot be built, how much of a model is there.
Error with_share(Error error, const Assembly& a, const ModelSource& source) {
  const auto checkpoint = source.components.find(kCheckpointComponent);
  if (error.code == ErrorCode::bad_file && !a.flow && checkpoint != source.components.end()) {
    const WeightMap* file = &checkpoint->second.weights;
    error.why += "; " + models::nearest_family({file, file, file}).text();
  }
  return of_model(std::move(error), a, source);
}

}  // namespace

int64_t Assembly::size_multiple() const {
  if (flow) return latent_scale() * flow->patch();
  return vae.scale() << (unet.levels.size() - 1);
}

int64_t Assembly::latent_channels() const {
  return flow && flow->wan_vae ? flow->wan_vae->latent_channels : vae.latent_channels;
}

int64_t Assembly::latent_scale() const {
  return flow && flow->wan_vae ? flow->wan_vae->scale() : vae.scale();
}

int64_t Assembly::context_width() const {
  return flow ? flow->text.width : clip.width;
}

Result<NoiseSchedule> Assembly::noise_for(int64_t latent_height, int64_t latent_width,
                                          std::optional<double> flow_shift) const {
  if (!flow) return *noise;
  FlowConfig schedule = flow->schedule;
  if (flow_shift) {
    schedule.shift = *flow_shift;
    schedule.dynamic = false;
  }
  return NoiseSchedule::make(schedule, latent_height * latent_width / (flow->patch() * flow->patch()));
}

ComponentInfo describe_component(std::string role, std::string family, const WeightMap& map) {
  ComponentInfo info{std::move(role), std::move(family), 0, 0, 0, {}};
  std::map<std::string, int64_t> dtypes;
  for (const std::string& name : map.names()) {
    const TensorDataPtr tensor = map.find(name);
    ++info.tensors;
    info.parameters += tensor->desc.count();
    info.bytes += tensor->desc.dense_bytes();
    ++dtypes[std::string(dtype_name(tensor->desc.dtype))];
  }
  info.dtypes.assign(dtypes.begin(), dtypes.end());
  return info;
}

Result<std::unique_ptr<Assembly>> assemble(const std::string& path, Log& log) {
  AssembleRequest request;
  request.files.model = path_from_utf8(path);
  if (path.empty()) return open_model(request.files.model).error();
  return assemble(request, log);
}

Result<std::unique_ptr<Assembly>> assemble(const AssembleRequest& request, Log& log) {
  CHIARO_ASSIGN(const ModelSource source, open_model(request.files));
  auto assembly = std::make_unique<Assembly>();
  Assembly& a = *assembly;
  a.info.path = path_to_utf8(source.path);
  Status made = models::is_flow_model(source) ? read_flow_model(a, source, request, log)
                                              : read_stable_diffusion(a, source, request, log);
  if (!made.ok()) return of_model(std::move(made).error(), a, source);
  CHIARO_TRY(a.flow ? check_flow_fit(a) : check_fit(a));
  Status checked = a.flow ? check_flow_networks(a) : check_networks(a);
  for_each_component(source, [&](const ModelComponent& c) { collect_report(a.info, c, checked.ok(), log); });
  if (!checked.ok()) return with_share(std::move(checked).error(), a, source);
  for_each_component(source, [&](const ModelComponent& c) {
    if (checked.ok()) checked = check_scales(c);
  });
  CHIARO_TRY(std::move(checked));
  for (const std::string& name : source.ignored) {
    log(LogLevel::info, LogCategory::weights, "component \"{}\" has no effect here", name);
  }
  return assembly;
}

Result<AssembleRequest> assemble_request(const LoadOptions& options) {
  AssembleRequest request;
  request.files.model = path_from_utf8(options.model);
  request.files.diffusion_model = path_from_utf8(options.parts.diffusion_model);
  request.files.vae = path_from_utf8(options.parts.vae);
  request.files.clip_l = path_from_utf8(options.parts.clip_l);
  request.files.clip_g = path_from_utf8(options.parts.clip_g);
  request.files.t5xxl = path_from_utf8(options.parts.t5xxl);
  request.files.llm = path_from_utf8(options.parts.llm);
  request.files.taesd = path_from_utf8(options.parts.taesd);
  request.taesd_preview_only = options.taesd_preview_only;
  if (options.prediction == "epsilon" || options.prediction == "eps") {
    request.prediction = Prediction::epsilon;
  } else if (options.prediction == "v") {
    request.prediction = Prediction::v;
  } else if (!options.prediction.empty()) {
    return Error{ErrorCode::usage, "there is no prediction \"" + options.prediction + "\"", "",
                 "use epsilon or v, or leave it out", "--prediction"};
  }
  return request;
}

}  // namespace chiaro
