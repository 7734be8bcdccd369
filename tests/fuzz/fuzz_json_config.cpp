// Fuzzes the reader of configs: parse, then every getter on every key, then the record of what was read.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "weights/json_config.h"

namespace {

using chiaro::JsonConfig;
using chiaro::JsonKind;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

template <class T>
void require_typed(const chiaro::Result<T>& result) {
  if (!result.ok()) require(result.error().code == chiaro::ErrorCode::bad_file, "a typed error");
}

void read_all(const JsonConfig& config, int depth) {
  require(depth <= chiaro::kMaxConfigDepth, "bounded depth");
  for (const std::string& key : config.keys()) {
    const JsonKind kind = config.kind(key);
    require(kind != JsonKind::missing && config.has(key), "listed keys are there");
    if (kind == JsonKind::object) {
      const auto child = config.child(key);
      require(child.ok(), "objects open");
      read_all(*child, depth + 1);
      continue;
    }
    require(!config.child(key).ok(), "only objects open");
    require_typed(config.get_int(key));
    require_typed(config.get_int_list(key));
    require_typed(config.get_double_list(key));
    require(config.get_bool(key).ok() == (kind == JsonKind::boolean), "booleans");
    require(config.get_string(key).ok() == (kind == JsonKind::text), "texts");
    const auto real = config.get_double(key);
    require(real.ok() == (kind == JsonKind::integer || kind == JsonKind::real), "numbers");
    if (real.ok()) require(std::isfinite(*real), "finite numbers");
    const auto strict = config.get_string_list(key);
    const auto nullable = config.get_nullable_string_list(key);
    if (strict.ok()) require(nullable.ok() && *strict == *nullable, "lists of texts");
    if (kind == JsonKind::null) require(config.get_int(key, 7).value() == 7, "null takes the default");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const auto config = JsonConfig::parse(std::string_view(reinterpret_cast<const char*>(input), size), "fuzzed");
  require_typed(config);
  if (!config.ok()) return 0;
  // Before anything is read, every key at the top is unused; afterwards none is.
  require(config->unused_keys().size() == config->keys().size(), "unread keys are listed");
  read_all(*config, 1);
  require(config->unused_keys().empty(), "read keys are not listed");
  return 0;
}
