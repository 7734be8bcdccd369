#include "gpu/profile.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace chiaro::gpu {
namespace {

using nlohmann::json;

Error bad(std::string_view where, std::string why) {
  return {ErrorCode::bad_file, "a device profile is malformed", std::move(why), "", std::string(where)};
}

// Takes fields out of an object one by one; what is left at the end is unknown.
struct Fields {
  json object;
  std::string_view where;
  Status status;

  json take(const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) {
      if (status.ok()) status = bad(where, std::string("it lacks \"") + key + "\"");
      return {};
    }
    json value = *found;
    object.erase(found);
    return value;
  }
  void wrong(const char* key, const char* kind) {
    if (status.ok()) status = bad(where, std::string("\"") + key + "\" is not " + kind);
  }
  void read(const char* key, bool& out) {
    const json value = take(key);
    if (!value.is_boolean()) return wrong(key, "true or false");
    out = value.get<bool>();
  }
  void read(const char* key, int64_t& out) {
    const json value = take(key);
    if (!value.is_number_integer() || value.get<int64_t>() <= 0) return wrong(key, "a positive integer");
    out = value.get<int64_t>();
  }
  void read(const char* key, int& out) {
    int64_t wide = 0;
    read(key, wide);
    if (wide > 1 << 20) wrong(key, "at most 1048576");
    out = static_cast<int>(wide);
  }
  void read(const char* key, double& out) {
    const json value = take(key);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= 0) {
      return wrong(key, "a positive number");
    }
    out = value.get<double>();
  }
  void read(const char* key, std::string& out) {
    const json value = take(key);
    if (!value.is_string()) return wrong(key, "text");
    out = value.get<std::string>();
  }
};

}  // namespace

Result<Profile> parse_profile(std::string_view text, std::string_view where) {
  Fields fields{json::parse(text, nullptr, false), where, {}};
  if (!fields.object.is_object()) return bad(where, "it is not a JSON object");
  Profile p;
  fields.read("name", p.name);
  fields.read("comment", p.comment);
  fields.read("simd_reduce", p.traits.simd_reduce);
  fields.read("simd_matrix", p.traits.simd_matrix);
  fields.read("bf16", p.traits.bf16);
  fields.read("max_threads", p.traits.max_threads);
  fields.read("cores", p.traits.cores);
  fields.read("threadgroup_bytes", p.traits.threadgroup_bytes);
  fields.read("max_buffer_bytes", p.traits.max_buffer_bytes);
  fields.read("watchdog_seconds", p.traits.watchdog_seconds);
  fields.read("bandwidth_gbs", p.traits.bandwidth_gbs);
  fields.read("tflops_f32", p.traits.tflops_f32);
  fields.read("tflops_f16", p.traits.tflops_f16);
  fields.read("launch_us", p.traits.launch_us);
  if (!fields.status.ok()) return fields.status.error();
  if (!fields.object.empty()) return bad(where, "there is no field \"" + fields.object.begin().key() + "\"");
  return p;
}

Result<Profile> find_profile(std::string_view name) {
  for (const ProfileText& file : profile_texts()) {
    if (file.name == name) return parse_profile(file.json, file.name);
  }
  std::string names;
  for (const std::string& known : profile_names()) names += (names.empty() ? "" : ", ") + known;
  return Error{ErrorCode::usage, "there is no device profile \"" + std::string(name) + "\"", "", "use one of " + names,
               ""};
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const ProfileText& file : profile_texts()) names.emplace_back(file.name);
  return names;
}

}  // namespace chiaro::gpu
