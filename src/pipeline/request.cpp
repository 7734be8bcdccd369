#include "pipeline/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <random>

#include "pipeline/flow_assembly.h"
#include "pipeline/tiling.h"

namespace chiaro {
namespace {

constexpr int kLeastSide = 8, kMostSide = 16384, kLeastTile = 4;
constexpr int64_t kMostPixels = int64_t{1} << 26;
constexpr int kMostPictures = 1'000'000;

Error usage(std::string what, std::string why, std::string mend) {
  return {ErrorCode::usage, std::move(what), std::move(why), std::move(mend), ""};
}

Status check_numbers(const GenerateRequest& r) {
  if (r.width < kLeastSide || r.width > kMostSide || r.height < kLeastSide || r.height > kMostSide ||
      int64_t{r.width} * r.height > kMostPixels) {
    return usage(fmt::format("a picture of {}x{} pixels cannot be made", r.width, r.height),
                 fmt::format("sides go from {} to {}, {} pixels together at most", kLeastSide, kMostSide, kMostPixels),
                 "choose other values for -W and -H");
  }
  if (r.batch_count < 1 || r.batch_count > kMostPictures) {
    return usage(fmt::format("{} pictures cannot be made", r.batch_count), fmt::format("1 to {} can", kMostPictures),
                 "choose another value for --batch-count");
  }
  if (r.batch_size < 1 || r.batch_size > 64) {
    return usage(fmt::format("{} pictures cannot be computed together", r.batch_size), "1 to 64 can",
                 "choose another value for --batch-size");
  }
  if (!std::isfinite(r.cfg_scale) || std::abs(r.cfg_scale) > 1000) {
    return usage(fmt::format("a guidance of {} makes no picture", r.cfg_scale), "it must be a number up to 1000",
                 "--cfg-scale 7 is usual");
  }
  if (!(r.flow_shift >= kModelsShift) || !std::isfinite(r.flow_shift)) {
    return usage(fmt::format("a flow shift of {} makes no picture", r.flow_shift), "it is a number above 0",
                 "leave --flow-shift out for the model's own, or use 3");
  }
  if (!(r.eta >= 0 && r.eta <= 1)) {
    return usage(fmt::format("eta {} is out of range", r.eta), "0 to 1", "leave --eta out for the usual 1");
  }
  if (r.clip_skip < -1 || r.clip_skip > 64) {
    return usage(fmt::format("clip skip {} is out of range", r.clip_skip), "1 is the last layer, 2 the one before",
                 "leave --clip-skip out");
  }
  return {};
}

Status check_tiling(const VaeTiling& tiling) {
  const auto wrong = [](int side) { return side != 0 && (side < kLeastTile || side > kMostSide); };
  if (wrong(tiling.tile_width) || wrong(tiling.tile_height)) {
    return usage(fmt::format("tiles of {}x{} latents cannot be decoded", tiling.tile_width, tiling.tile_height),
                 fmt::format("sides go from {} to {}", kLeastTile, kMostSide), "--vae-tile-size 64x64 is usual");
  }
  if (!(tiling.overlap >= 0 && tiling.overlap <= kMostTileOverlap)) {
    return usage(fmt::format("tiles cannot overlap by {} of their size", tiling.overlap),
                 fmt::format("0 to {} are possible", kMostTileOverlap), "--vae-tile-overlap 0.5 hides seams best");
  }
  return {};
}

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The request's shift of a flow's noise levels; nothing where the model's own holds.
std::optional<double> shift_of(const Assembly& a, ResolvedRequest& out) {
  GenerateRequest& r = out.request;
  if (!(r.flow_shift > kModelsShift)) return std::nullopt;
  if (a.flow) return r.flow_shift;
  out.notices.emplace_back("--flow-shift has no effect: this is no model of flows");
  r.flow_shift = kModelsShift;
  return std::nullopt;
}

Status resolve_sampler(const Assembly& a, ResolvedRequest& out) {
  GenerateRequest& r = out.request;
  if (r.sampling_method.empty()) r.sampling_method = a.info.default_sampler;
  out.sampler = find_sampler(r.sampling_method);
  if (out.sampler == nullptr) {
    std::vector<std::string_view> names;
    for (const Sampler* s : samplers()) names.push_back(s->name);
    return usage(fmt::format("there is no sampling method \"{}\"", r.sampling_method), "",
                 fmt::format("use one of {}", fmt::join(names, ", ")));
  }
  if (r.schedule.empty()) r.schedule = "discrete";
  if (r.schedule != "discrete" && r.schedule != "karras") {
    return usage(fmt::format("there is no schedule \"{}\"", r.schedule), "", "use discrete or karras");
  }
  SamplerRequest request;
  request.schedule = r.schedule == "karras" ? ScheduleKind::karras : ScheduleKind::discrete;
  request.steps = r.steps;
  request.eta = r.eta;
  if (request.schedule == ScheduleKind::karras && !out.sampler->karras) {
    out.notices.push_back(fmt::format("--schedule karras has no effect on {}", out.sampler->name));
    r.schedule = "discrete";
  }
  if (a.flow && request.schedule == ScheduleKind::karras) {
    out.notices.push_back(fmt::format("--schedule karras has no effect on {}: --flow-shift moves its noise levels",
                                      models::family_name(a.flow->family)));
    r.schedule = "discrete";
    request.schedule = ScheduleKind::discrete;
  }
  if (!out.sampler->fresh_noise && r.eta != GenerateRequest{}.eta) {
    out.notices.push_back(fmt::format("--eta has no effect on {}, which adds no noise", out.sampler->name));
  }
  CHIARO_ASSIGN(const NoiseSchedule noise, a.noise_for(out.latent_height, out.latent_width, shift_of(a, out)));
  CHIARO_ASSIGN(out.run, out.sampler->plan(noise, request));
  return {};
}

void resolve_size(const Assembly& a, ResolvedRequest& out) {
  const GenerateRequest& r = out.request;
  const int64_t multiple = a.size_multiple();
  const int64_t height = round_up(r.height, multiple), width = round_up(r.width, multiple);
  out.latent_height = height / a.latent_scale();
  out.latent_width = width / a.latent_scale();
  out.crop_x = static_cast<int>((width - r.width) / 2);
  out.crop_y = static_cast<int>((height - r.height) / 2);
}

// Half precision ends at 65,504, which the residuals of these models pass: bf16 is as wide as f32.
void widen_precision(const Assembly& a, ResolvedRequest& out) {
  if (!a.flow || out.dtype != DType::f16) return;
  out.dtype = DType::bf16;
  out.notices.push_back(
      fmt::format("{} overflows in f16: bf16 is used in its place", models::family_name(a.flow->family)));
}

}  // namespace

Result<DType> activation_dtype(const std::string& precision) {
  if (precision == "auto" || precision == "f32") return DType::f32;  // "auto": the CPU computes in f32
  if (precision == "f16") return DType::f16;
  if (precision == "bf16") return DType::bf16;
  return Error{ErrorCode::usage, "there is no precision \"" + precision + "\"", "", "use auto, f32, f16 or bf16", ""};
}

// Says less where there is not even memory to say it: what is left then fits the small buffers of std::string.
Result<ResolvedRequest> resolve_request(const Assembly& a, const GenerateRequest& request, DType session_dtype) {
  ResolvedRequest out;
  out.request = request;
  GenerateRequest& r = out.request;
  if (r.width == 0) r.width = a.info.default_width;
  if (r.height == 0) r.height = a.info.default_height;
  if (r.steps == kModelsSteps) r.steps = a.default_steps;
  if (r.cfg_scale == kModelsGuidance) r.cfg_scale = a.default_guidance;
  CHIARO_TRY(check_numbers(r));
  CHIARO_TRY(check_tiling(r.vae_tiling));
  resolve_size(a, out);
  if (a.flow) CHIARO_TRY(check_flow_size(a, out.latent_height, out.latent_width));
  CHIARO_TRY(resolve_sampler(a, out));
  if (r.rng != "cuda" && r.rng != "cpu") {
    return usage(fmt::format("there is no random generator \"{}\"", r.rng), "", "use --rng cuda or --rng cpu");
  }
  out.dtype = session_dtype;
  if (!r.precision.empty()) {
    CHIARO_ASSIGN(out.dtype, activation_dtype(r.precision));
  }
  widen_precision(a, out);
  r.precision = std::string(dtype_name(out.dtype));
  out.rng = r.rng == "cpu" ? RngKind::cpu : RngKind::cuda;
  if (r.random_seed) {
    std::random_device device;  // 32 bits: short enough to type again
    r.seed = device();
    r.random_seed = false;
  }
  if (r.clip_skip < 1) r.clip_skip = 1;
  out.guided = r.cfg_scale != 1.0;
  return out;
}

}  // namespace chiaro
