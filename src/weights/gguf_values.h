// Typed metadata of a GGUF file, and the element types of its tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "chiaro/error.h"
#include "core/dtype.h"

namespace chiaro {

// The numbers are the format's.
enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };
inline constexpr uint32_t kGgufTypeCount = 13;
std::string_view gguf_type_name(GgufType type);
// Bytes of one value; 0 for texts and arrays, whose size varies.
size_t gguf_type_bytes(GgufType type);

// A list as it lies in a file (a tokenizer's 300,000 words are not copied); texts are a 64-bit length and its bytes,
// one after another. What it refers to was checked to be there. `owner` keeps the bytes alive.
struct GgufArray {
  GgufType type = GgufType::u8;
  uint64_t count = 0;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;

  // Empty where the elements are of another kind. Integers: of any width, booleans too; u64 above 2^63 - 1: none.
  std::optional<std::vector<std::string_view>> texts() const;  // views live as long as `owner`
  std::optional<std::vector<int64_t>> integers() const;
  std::optional<std::vector<double>> numbers() const;  // integers too

  static GgufArray of_texts(std::span<const std::string> values);
  static GgufArray of_i32(std::span<const int32_t> values);
  static GgufArray of_f32(std::span<const float> values);
};

// The alternatives stand in the order of GgufType.
using GgufValue = std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool, std::string,
                               GgufArray, uint64_t, int64_t, double>;
inline GgufType gguf_type_of(const GgufValue& value) {
  return static_cast<GgufType>(value.index());
}
// For people: "32", "true", "\"llama\"", "a list of 300000 texts".
std::string gguf_value_text(const GgufValue& value);

// Before keys that `convert` takes over from a safetensors file's metadata.
inline constexpr std::string_view kFromSafetensors = "safetensors.";

// Thread rule: immutable once read.
class GgufMetadata {
 public:
  GgufMetadata() = default;
  explicit GgufMetadata(std::string where) : where_(std::move(where)) {}  // the file, for messages

  // False where the key is there already.
  bool add(std::string key, GgufValue value) { return values_.emplace(std::move(key), std::move(value)).second; }
  const std::map<std::string, GgufValue, std::less<>>& values() const { return values_; }
  const GgufValue* find(std::string_view key) const;

  // Errors: bad_file where the key is missing or of another kind, naming both.
  Result<int64_t> get_integer(std::string_view key) const;  // any width
  Result<double> get_number(std::string_view key) const;    // integers too
  Result<bool> get_bool(std::string_view key) const;
  Result<std::string> get_text(std::string_view key) const;
  Result<std::vector<std::string_view>> get_texts(std::string_view key) const;
  Result<std::vector<int64_t>> get_integers(std::string_view key) const;
  Result<std::vector<double>> get_numbers(std::string_view key) const;

 private:
  Result<const GgufValue*> need(std::string_view key, std::string_view kind) const;
  Error wrong_kind(std::string_view key, const GgufValue& value, std::string_view kind) const;
  template <class T>
  Result<T> of_list(std::string_view key, std::string_view kind, std::optional<T> (GgufArray::*get)() const) const;

  std::map<std::string, GgufValue, std::less<>> values_;
  std::string where_;
};

// An element type of tensors, by the number that the format gives it.
struct GgufTensorType {
  uint32_t code;
  std::string_view name;  // as ggml spells it
  int block_elements, block_bytes;
  std::optional<DType> dtype;  // empty: known, not decoded here
};
const GgufTensorType* gguf_tensor_type(uint32_t code);  // nullptr: unknown
const GgufTensorType* gguf_tensor_type(DType dtype);    // nullptr: the format has no such type (FP8)

}  // namespace chiaro
