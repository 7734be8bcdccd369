// Small JSON files that describe a model (config.json, model_index.json): bounded, strict, and with a record of what
// was read, so that a setting that nobody looked at is reported instead of silently ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"

namespace chiaro {

inline constexpr size_t kMaxConfigBytes = 4u << 20;
inline constexpr int kMaxConfigDepth = 64;

enum class JsonKind { missing, null, boolean, integer, real, text, list, object };

// An object of a parsed text. Copies and children share the text and the record of reads.
// Getters without a default need the key (errors: bad_file naming file and key); with a default they return it where
// the key is missing or null, and still refuse a value of the wrong kind. Every getter marks its key as read.
// Thread rule: one thread at a time per parsed text.
class JsonConfig {
 public:
  // Errors: bad_file where the text is too long, nests too deeply, is not strict JSON in UTF-8, names a key twice, or
  // is not an object. `where` names the file in messages.
  static Result<JsonConfig> parse(std::span<const std::byte> bytes, std::string_view where);
  static Result<JsonConfig> parse(std::string_view text, std::string_view where);
  // Also errors: io.
  static Result<JsonConfig> open(const std::filesystem::path& path);

  // Neither `kind` nor `has` nor `keys` counts as reading.
  JsonKind kind(std::string_view key) const;
  bool has(std::string_view key) const { return kind(key) != JsonKind::missing; }
  std::vector<std::string> keys() const;  // sorted

  Result<int64_t> get_int(std::string_view key) const;
  Result<int64_t> get_int(std::string_view key, int64_t otherwise) const;
  Result<double> get_double(std::string_view key) const;  // integers too; always finite
  Result<double> get_double(std::string_view key, double otherwise) const;
  Result<bool> get_bool(std::string_view key) const;
  Result<bool> get_bool(std::string_view key, bool otherwise) const;
  Result<std::string> get_string(std::string_view key) const;
  Result<std::string> get_string(std::string_view key, std::string_view otherwise) const;
  // A list, or a single value as a list of one (diffusers writes attention_head_dim both ways).
  Result<std::vector<int64_t>> get_int_list(std::string_view key) const;
  Result<std::vector<int64_t>> get_int_list(std::string_view key, std::vector<int64_t> otherwise) const;
  Result<std::vector<double>> get_double_list(std::string_view key) const;
  Result<std::vector<double>> get_double_list(std::string_view key, std::vector<double> otherwise) const;
  Result<std::vector<std::string>> get_string_list(std::string_view key) const;
  Result<std::vector<std::string>> get_string_list(std::string_view key, std::vector<std::string> otherwise) const;
  // As get_string_list, with nulls as empty texts (model_index.json has "safety_checker": [null, null]).
  Result<std::vector<std::string>> get_nullable_string_list(std::string_view key) const;
  // The object under `key`. Its own keys are read one by one.
  Result<JsonConfig> child(std::string_view key) const;

  // Marks a key as known and deliberately without effect.
  void ignore(std::string_view key) const;
  // Keys below this object that nothing has read, with dots ("text_config.hidden_size"), sorted.
  std::vector<std::string> unused_keys() const;
  // The file, and the path within it: "unet/config.json" or "config.json: text_config".
  std::string where() const;

 private:
  struct Text;  // the parsed text and the record of reads
  struct Access;
  friend struct Access;
  JsonConfig(std::shared_ptr<Text> text, const void* node, std::string path)
      : text_(std::move(text)), node_(node), path_(std::move(path)) {}

  std::shared_ptr<Text> text_;
  const void* node_;  // an object of the JSON library, owned by text_
  std::string path_;  // keys from the root, joined by dots; empty for the root
};

}  // namespace chiaro
