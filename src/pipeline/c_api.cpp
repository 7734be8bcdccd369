// The C ABI over the C++ API. No exception crosses it: every function that may allocate runs inside guarded().
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>

#include "chiaro/chiaro.h"
#include "chiaro/chiaro_c.h"

struct chiaro_session {
  std::shared_ptr<chiaro::Session> session;
  std::mutex mutex;  // one generate at a time, so that a cancel belongs to the one that runs
  std::atomic<bool> cancel{false};
};

struct chiaro_pictures {
  chiaro::GenerateResult result;
  std::vector<chiaro_picture> views;  // of result.pictures
};

namespace {

using chiaro::Error;
using chiaro::ErrorCode;
using chiaro::Status;

static_assert(std::atomic<bool>::is_always_lock_free, "chiaro_cancel may run in a signal handler");
static_assert(static_cast<int>(ErrorCode::usage) + 1 == CHIARO_USAGE);
static_assert(static_cast<int>(ErrorCode::non_finite) + 1 == CHIARO_NON_FINITE);
static_assert(static_cast<int>(ErrorCode::internal) + 1 == CHIARO_INTERNAL);
static_assert(static_cast<int>(chiaro::Severity::error) == CHIARO_LOG_ERROR);
static_assert(static_cast<int>(chiaro::Stage::save) == CHIARO_STAGE_SAVE);
static_assert(static_cast<int>(chiaro::Tiling::off) == CHIARO_TILING_OFF);

// What chiaro_error points into.
struct ErrorBox : chiaro_error {
  explicit ErrorBox(Error e) : chiaro_error{}, text(std::move(e)) {
    code = static_cast<chiaro_code>(static_cast<int>(text.code) + 1);
    what = text.what.c_str();
    why = text.why.c_str();
    mend = text.mend.c_str();
    where = text.where.c_str();
  }
  Error text;
};

// For when there is no memory to say so; never freed.
chiaro_error no_memory{CHIARO_OUT_OF_MEMORY, "no memory left", "an allocation was refused", "make the picture smaller",
                       ""};

template <class F>
chiaro_error* guarded(F&& work) noexcept {
  try {
    try {
      Status status = work();
      return status.ok() ? nullptr : new ErrorBox(std::move(status).error());
    } catch (const std::bad_alloc&) {
      return &no_memory;
    } catch (const std::exception& e) {
      return new ErrorBox({ErrorCode::internal, "an exception reached the C interface", e.what(), "", ""});
    }
  } catch (...) {
    return &no_memory;
  }
}

Error usage(std::string what, std::string why = "") {
  return {ErrorCode::usage, std::move(what), std::move(why), "see chiaro/chiaro_c.h", ""};
}

// A field that holds one of the values 0 to `last` of an enum.
Status check_choice(std::string_view field, int value, int last, std::string_view of) {
  if (value >= 0 && value <= last) return {};
  return usage(std::string(field) + " is " + std::to_string(value), "it is one of " + std::string(of));
}

std::string text_of(const char* text, const char* otherwise = "") {
  return text != nullptr ? text : otherwise;
}

// Copies a caller's struct, which may be older (shorter: the defaults in `ours` stay) or newer (longer: what we do not
// know must be zero, that is, not asked for).
template <class T>
Status read_struct(const T* theirs, T& ours, const char* name) {
  if (theirs == nullptr) return usage(std::string(name) + " is NULL");
  const size_t size = theirs->size;
  if (size < sizeof(size_t) || size > size_t{1} << 16) {
    return usage(std::string(name) + " was not initialised", "its size is " + std::to_string(size));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(theirs);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) return usage(std::string(name) + " asks for something this version does not know");
  }
  std::memcpy(&ours, theirs, std::min(size, sizeof(T)));
  return {};
}

// The defaults, as long as the caller's struct is.
template <class T>
void write_struct(T* theirs, size_t size, T ours) {
  if (theirs == nullptr) return;
  ours.size = size;
  std::memset(theirs, 0, size);
  std::memcpy(theirs, &ours, std::min(size, sizeof(T)));
}

chiaro_load_options default_load_options() {
  chiaro_load_options o{};
  o.fuse = 1;
  o.log_level = CHIARO_LOG_NOTICE;
  return o;
}

chiaro_request default_request() {
  const chiaro::GenerateRequest defaults;
  chiaro_request r{};
  r.steps = defaults.steps;
  r.cfg_scale = defaults.cfg_scale;
  r.seed = defaults.seed;
  r.batch_count = defaults.batch_count;
  r.batch_size = defaults.batch_size;
  r.eta = defaults.eta;
  r.vae_tile_overlap = defaults.vae_tiling.overlap;
  return r;
}

Status load(const chiaro_load_options* theirs, chiaro_session** out) {
  if (out == nullptr) return usage("session is NULL");
  *out = nullptr;
  chiaro_load_options o = default_load_options();
  CHIARO_TRY(read_struct(theirs, o, "the load options"));
  if (o.model == nullptr && o.diffusion_model == nullptr) return usage("no model was named");
  if (o.disabled_op_count > 0 && o.disabled_ops == nullptr) return usage("disabled_ops is NULL");
  CHIARO_TRY(check_choice("log_level", o.log_level, CHIARO_LOG_ERROR, "chiaro_severity"));
  chiaro::LoadOptions options;
  options.model = text_of(o.model);
  options.parts.diffusion_model = text_of(o.diffusion_model);
  options.parts.vae = text_of(o.vae);
  options.parts.clip_l = text_of(o.clip_l);
  options.parts.llm = text_of(o.llm);
  options.parts.taesd = text_of(o.taesd);
  options.threads = o.threads;
  options.weight_cache = text_of(o.weight_cache);
  options.precision = text_of(o.precision, "auto");
  options.fuse = o.fuse != 0;
  for (size_t i = 0; i < o.disabled_op_count; ++i) options.disabled_ops.push_back(text_of(o.disabled_ops[i]));
  options.devices = text_of(o.devices);
  options.backend = text_of(o.backend);
  options.log_level = static_cast<chiaro::Severity>(o.log_level);
  if (o.log != nullptr) {
    options.log = [log = o.log, data = o.log_data](chiaro::Severity severity, auto category, auto line) {
      log(data, static_cast<chiaro_severity>(severity), std::string(category).c_str(), std::string(line).c_str());
    };
  }
  auto box = std::make_unique<chiaro_session>();
  CHIARO_ASSIGN(box->session, chiaro::Session::load(options));
  *out = box.release();
  return {};
}

chiaro::GenerateRequest request_of(const chiaro_request& r) {
  chiaro::GenerateRequest request;
  request.prompt = text_of(r.prompt);
  request.negative_prompt = text_of(r.negative_prompt);
  request.width = r.width;
  request.height = r.height;
  request.steps = r.steps;
  request.cfg_scale = r.cfg_scale;
  request.seed = r.seed;
  request.random_seed = r.random_seed != 0;
  request.batch_count = r.batch_count;
  request.batch_size = r.batch_size;
  request.sampling_method = text_of(r.sampling_method);
  request.schedule = text_of(r.schedule);
  request.rng = text_of(r.rng, "cuda");
  request.eta = r.eta;
  request.clip_skip = r.clip_skip;
  request.strict = r.strict != 0;
  request.flow_shift = r.flow_shift;
  request.vae_tiling = {static_cast<chiaro::Tiling>(r.vae_tiling), r.vae_tile_width, r.vae_tile_height,
                        r.vae_tile_overlap};
  return request;
}

chiaro_picture view_of(const chiaro::Picture& p) {
  return {p.width, p.height, p.seed, p.rgb.data(), p.rgb.size()};
}

chiaro::Callbacks callbacks_of(const chiaro_request& r, const std::atomic<bool>& cancel) {
  chiaro::Callbacks callbacks;
  callbacks.cancel = &cancel;
  if (r.on_progress != nullptr) {
    callbacks.on_progress = [r](const chiaro::Progress& p) {
      const chiaro_progress progress{static_cast<chiaro_stage>(p.stage),
                                     p.picture,
                                     p.pictures,
                                     p.step,
                                     p.steps,
                                     p.seconds,
                                     p.cache_written,
                                     p.cache_bytes};
      r.on_progress(r.user_data, &progress);
    };
  }
  if (r.on_picture != nullptr) {
    callbacks.on_picture = [r](const chiaro::Picture& p, int index, const chiaro::GenerateRequest&) -> Status {
      const chiaro_picture picture = view_of(p);
      r.on_picture(r.user_data, index, &picture);
      return {};
    };
  }
  return callbacks;
}

Status generate(chiaro_session* session, const chiaro_request* theirs, chiaro_pictures** out) {
  if (out == nullptr) return usage("pictures is NULL");
  *out = nullptr;
  if (session == nullptr) return usage("session is NULL");
  chiaro_request r = default_request();
  CHIARO_TRY(read_struct(theirs, r, "the request"));
  if (r.prompt == nullptr) return usage("no prompt was given", "an empty one is \"\"");
  CHIARO_TRY(check_choice("vae_tiling", r.vae_tiling, CHIARO_TILING_OFF, "chiaro_tiling"));
  const std::lock_guard lock(session->mutex);
  session->cancel = false;
  auto box = std::make_unique<chiaro_pictures>();
  CHIARO_ASSIGN(box->result, session->session->generate(request_of(r), callbacks_of(r, session->cancel)));
  for (const chiaro::Picture& picture : box->result.pictures) box->views.push_back(view_of(picture));
  *out = box.release();
  return {};
}

Status save(const chiaro_pictures* pictures, size_t index, const char* path) {
  if (pictures == nullptr || index >= pictures->views.size()) return usage("there is no such picture");
  if (path == nullptr) return usage("path is NULL");
  const chiaro::GenerateResult& result = pictures->result;
  return chiaro::save_picture(path, result.pictures[index], result.used, result.model_name);
}

}  // namespace

extern "C" {

const char* chiaro_version(void) {
  return chiaro::version().data();  // a string literal
}

void chiaro_free_error(chiaro_error* error) {
  if (error != nullptr && error != &no_memory) delete static_cast<ErrorBox*>(error);
}

void chiaro_init_load_options(chiaro_load_options* options, size_t size) {
  write_struct(options, size, default_load_options());
}

chiaro_error* chiaro_load(const chiaro_load_options* options, chiaro_session** session) {
  return guarded([&] { return load(options, session); });
}

void chiaro_free_session(chiaro_session* session) {
  delete session;
}

int64_t chiaro_held_bytes(const chiaro_session* session) {
  return session != nullptr ? session->session->held_bytes() : 0;
}

void chiaro_trim(chiaro_session* session) {
  if (session != nullptr) session->session->trim();
}

void chiaro_init_request(chiaro_request* request, size_t size) {
  write_struct(request, size, default_request());
}

chiaro_error* chiaro_generate(chiaro_session* session, const chiaro_request* request, chiaro_pictures** pictures) {
  return guarded([&] { return generate(session, request, pictures); });
}

void chiaro_cancel(chiaro_session* session) {
  if (session != nullptr) session->cancel = true;
}

size_t chiaro_picture_count(const chiaro_pictures* pictures) {
  return pictures != nullptr ? pictures->views.size() : 0;
}

const chiaro_picture* chiaro_picture_at(const chiaro_pictures* pictures, size_t index) {
  return index < chiaro_picture_count(pictures) ? &pictures->views[index] : nullptr;
}

size_t chiaro_notice_count(const chiaro_pictures* pictures) {
  return pictures != nullptr ? pictures->result.notices.size() : 0;
}

const char* chiaro_notice_at(const chiaro_pictures* pictures, size_t index) {
  return index < chiaro_notice_count(pictures) ? pictures->result.notices[index].c_str() : nullptr;
}

chiaro_error* chiaro_save_png(const chiaro_pictures* pictures, size_t index, const char* path) {
  return guarded([&] { return save(pictures, index, path); });
}

void chiaro_free_pictures(chiaro_pictures* pictures) {
  delete pictures;
}

}  // extern "C"
