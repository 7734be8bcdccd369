// Typed access over nlohmann's tree.
#include "weights/json_config.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "weights/file_look.h"
#include "weights/json_check.h"
#include "weights/printable.h"

namespace chiaro {
namespace {

using Json = nlohmann::json;

JsonKind kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null: return JsonKind::null;
    case Json::value_t::boolean: return JsonKind::boolean;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: return JsonKind::integer;
    case Json::value_t::number_float: return JsonKind::real;
    case Json::value_t::string: return JsonKind::text;
    case Json::value_t::array: return JsonKind::list;
    case Json::value_t::object: return JsonKind::object;
    default: return JsonKind::missing;
  }
}

// What a value is, for messages: short whatever the value.
std::string described(const Json& value) {
  switch (kind_of(value)) {
    case JsonKind::text: return "the text " + printable(value.get_ref<const std::string&>());
    case JsonKind::list: return "a list of " + std::to_string(value.size());
    case JsonKind::object: return "an object";
    default: return value.dump();
  }
}

// Each `take` moves a value of the right kind to `out` and returns true; `wanted` says in words what it takes.
bool take(const Json& value, int64_t& out) {
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return false;
  }
  if (!value.is_number_integer()) return false;
  out = value.get<int64_t>();
  return true;
}
bool take(const Json& value, double& out) {
  if (!value.is_number()) return false;
  out = value.get<double>();
  return std::isfinite(out);
}
bool take(const Json& value, bool& out) {
  if (!value.is_boolean()) return false;
  out = value.get<bool>();
  return true;
}
bool take(const Json& value, std::string& out) {
  if (!value.is_string()) return false;
  out = value.get_ref<const std::string&>();
  return true;
}

template <class T>
constexpr std::string_view wanted() {
  if constexpr (std::is_same_v<T, int64_t>) return "a whole number of 64 bits";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  return "a text";
}

}  // namespace

struct JsonConfig::Text {
  std::string where;
  Json root;
  // Values within `root`, by address: the tree never changes, and paths of text are ambiguous (keys may hold dots).
  std::set<const Json*> read;     // read whole
  std::set<const Json*> entered;  // opened with child()
};

// The private side of JsonConfig, kept out of the header with the types it needs.
struct JsonConfig::Access {
  static const Json& node(const JsonConfig& config) { return *static_cast<const Json*>(config.node_); }

  static std::string full_path(const JsonConfig& config, std::string_view key) {
    return config.path_.empty() ? std::string(key) : config.path_ + "." + std::string(key);
  }

  static Error error(const JsonConfig& config, std::string_view key, std::string why, std::string mend) {
    return {ErrorCode::bad_file, "configuration " + printable_path(config.text_->where) + " is refused",
            "key " + printable(full_path(config, key)) + " " + std::move(why), std::move(mend), config.where()};
  }
  static Error missing(const JsonConfig& config, std::string_view key) {
    return error(config, key, "is missing", "use the configuration that came with the model");
  }
  static Error wrong(const JsonConfig& config, std::string_view key, const Json& value, std::string_view want) {
    return error(config, key, "is " + described(value), "it must be " + std::string(want));
  }

  // The value of `key`, marked as read; nullptr where missing.
  static const Json* read(const JsonConfig& config, std::string_view key) {
    const Json& object = node(config);
    const auto at = object.find(key);
    if (at == object.end()) return nullptr;
    config.text_->read.insert(&*at);
    return &*at;
  }

  template <class T>
  static Result<T> get(const JsonConfig& config, std::string_view key, const T* otherwise) {
    const Json* value = read(config, key);
    if (otherwise != nullptr && (value == nullptr || value->is_null())) return *otherwise;
    if (value == nullptr) return missing(config, key);
    T out{};
    if (take(*value, out)) return out;
    return wrong(config, key, *value, wanted<T>());
  }

  template <class T>
  static Result<std::vector<T>> get_list(const JsonConfig& config, std::string_view key,
                                         const std::vector<T>* otherwise, bool nullable = false) {
    const Json* value = read(config, key);
    if (otherwise != nullptr && (value == nullptr || value->is_null())) return *otherwise;
    if (value == nullptr) return missing(config, key);
    std::vector<T> out;
    T item{};
    if (!value->is_array()) {
      if (!take(*value, item)) return wrong(config, key, *value, "a list, or " + std::string(wanted<T>()));
      out.push_back(std::move(item));
      return out;
    }
    for (const Json& element : *value) {
      item = T{};
      if (!(nullable && element.is_null()) && !take(element, item)) {
        return error(config, key, "holds " + described(element),
                     "each of its values must be " + std::string(wanted<T>()));
      }
      out.push_back(std::move(item));
    }
    return out;
  }

  static Result<JsonConfig> parse(std::string_view text, std::string_view where) {
    const std::string file = printable_path(where);
    const auto refuse = [&](std::string why, std::string mend = "use the file that came with the model") {
      return Error{ErrorCode::bad_file, "configuration " + file + " is refused", std::move(why), std::move(mend), file};
    };
    if (text.size() > kMaxConfigBytes) {
      return refuse("it takes " + std::to_string(text.size()) + " bytes; the limit is " +
                    std::to_string(kMaxConfigBytes));
    }
    if (auto fault = find_json_fault(text, kMaxConfigDepth)) {
      const FileLook look = look_at(std::as_bytes(std::span(text.data(), text.size())));
      if (look.kind == FileKind::json || look.kind == FileKind::unknown) return refuse(std::move(*fault));
      return refuse("it looks like " + look.looks_like, look.mend);
    }
    auto shared = std::make_shared<Text>();
    shared->where = std::string(where);
    try {
      shared->root = Json::parse(text.begin(), text.end());
    } catch (const std::exception& e) {
      return refuse(std::string("it cannot be read: ") + e.what());
    }
    if (!shared->root.is_object()) return refuse("it is not a JSON object but " + described(shared->root));
    const Json* root = &shared->root;
    return JsonConfig(std::move(shared), root, "");
  }

  static void add_unused(const Text& text, const Json& object, const std::string& path,
                         std::vector<std::string>& unused) {
    for (const auto& [key, value] : object.items()) {
      const std::string full = path.empty() ? key : path + "." + key;
      if (text.read.count(&value) != 0) continue;
      if (text.entered.count(&value) != 0) {
        add_unused(text, value, full, unused);
      } else {
        unused.push_back(full);
      }
    }
  }
};

Result<JsonConfig> JsonConfig::parse(std::string_view text, std::string_view where) {
  return Access::parse(text, where);
}

Result<JsonConfig> JsonConfig::parse(std::span<const std::byte> bytes, std::string_view where) {
  return Access::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, where);
}

Result<JsonConfig> JsonConfig::open(const std::filesystem::path& path) {
  CHIARO_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  return parse(file->bytes(), path_to_utf8(path));
}

JsonKind JsonConfig::kind(std::string_view key) const {
  const Json& object = Access::node(*this);
  const auto at = object.find(key);
  return at == object.end() ? JsonKind::missing : kind_of(*at);
}

std::vector<std::string> JsonConfig::keys() const {
  std::vector<std::string> names;
  for (const auto& item : Access::node(*this).items()) names.push_back(item.key());
  return names;
}

Result<int64_t> JsonConfig::get_int(std::string_view key) const {
  return Access::get<int64_t>(*this, key, nullptr);
}
Result<int64_t> JsonConfig::get_int(std::string_view key, int64_t otherwise) const {
  return Access::get<int64_t>(*this, key, &otherwise);
}
Result<double> JsonConfig::get_double(std::string_view key) const {
  return Access::get<double>(*this, key, nullptr);
}
Result<double> JsonConfig::get_double(std::string_view key, double otherwise) const {
  return Access::get<double>(*this, key, &otherwise);
}
Result<bool> JsonConfig::get_bool(std::string_view key) const {
  return Access::get<bool>(*this, key, nullptr);
}
Result<bool> JsonConfig::get_bool(std::string_view key, bool otherwise) const {
  return Access::get<bool>(*this, key, &otherwise);
}
Result<std::string> JsonConfig::get_string(std::string_view key) const {
  return Access::get<std::string>(*this, key, nullptr);
}
Result<std::string> JsonConfig::get_string(std::string_view key, std::string_view otherwise) const {
  const std::string text(otherwise);
  return Access::get<std::string>(*this, key, &text);
}
Result<std::vector<int64_t>> JsonConfig::get_int_list(std::string_view key) const {
  return Access::get_list<int64_t>(*this, key, nullptr);
}
Result<std::vector<int64_t>> JsonConfig::get_int_list(std::string_view key, std::vector<int64_t> otherwise) const {
  return Access::get_list<int64_t>(*this, key, &otherwise);
}
Result<std::vector<double>> JsonConfig::get_double_list(std::string_view key) const {
  return Access::get_list<double>(*this, key, nullptr);
}
Result<std::vector<double>> JsonConfig::get_double_list(std::string_view key, std::vector<double> otherwise) const {
  return Access::get_list<double>(*this, key, &otherwise);
}
Result<std::vector<std::string>> JsonConfig::get_string_list(std::string_view key) const {
  return Access::get_list<std::string>(*this, key, nullptr);
}
Result<std::vector<std::string>> JsonConfig::get_string_list(std::string_view key,
                                                             std::vector<std::string> otherwise) const {
  return Access::get_list<std::string>(*this, key, &otherwise);
}
Result<std::vector<std::string>> JsonConfig::get_nullable_string_list(std::string_view key) const {
  return Access::get_list<std::string>(*this, key, nullptr, true);
}

Result<JsonConfig> JsonConfig::child(std::string_view key) const {
  const Json& object = Access::node(*this);
  const auto at = object.find(key);
  if (at == object.end()) return Access::missing(*this, key);
  if (!at->is_object()) return Access::wrong(*this, key, *at, "an object");
  text_->entered.insert(&*at);
  return JsonConfig(text_, &*at, Access::full_path(*this, key));
}

void JsonConfig::ignore(std::string_view key) const {
  (void)Access::read(*this, key);
}

std::vector<std::string> JsonConfig::unused_keys() const {
  std::vector<std::string> unused;
  Access::add_unused(*text_, Access::node(*this), path_, unused);
  return unused;
}

std::string JsonConfig::where() const {
  return path_.empty() ? text_->where : text_->where + ": " + printable(path_);
}

}  // namespace chiaro
