// Conversions between the values of a file and the kinds that callers ask for.
#include "weights/gguf_values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "weights/printable.h"

namespace chiaro {
namespace {

template <class T>
T at(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

struct TypeInfo {
  std::string_view name;
  size_t bytes;
};
constexpr std::array<TypeInfo, kGgufTypeCount> kTypes{{{"u8", 1},
                                                       {"i8", 1},
                                                       {"u16", 2},
                                                       {"i16", 2},
                                                       {"u32", 4},
                                                       {"i32", 4},
                                                       {"f32", 4},
                                                       {"bool", 1},
                                                       {"text", 0},
                                                       {"list", 0},
                                                       {"u64", 8},
                                                       {"i64", 8},
                                                       {"f64", 8}}};

std::optional<int64_t> integer_at(GgufType type, const std::byte* p) {
  switch (type) {
    case GgufType::u8:
    case GgufType::boolean: return at<uint8_t>(p);
    case GgufType::i8: return at<int8_t>(p);
    case GgufType::u16: return at<uint16_t>(p);
    case GgufType::i16: return at<int16_t>(p);
    case GgufType::u32: return at<uint32_t>(p);
    case GgufType::i32: return at<int32_t>(p);
    case GgufType::i64: return at<int64_t>(p);
    case GgufType::u64: {
      const auto value = at<uint64_t>(p);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default: return std::nullopt;
  }
}

std::optional<double> number_at(GgufType type, const std::byte* p) {
  if (type == GgufType::f32) return at<float>(p);
  if (type == GgufType::f64) return at<double>(p);
  const auto integer = integer_at(type, p);
  return integer ? std::optional<double>(static_cast<double>(*integer)) : std::nullopt;
}

// A scalar as the bytes of an array of one.
template <class F>
auto with_bytes(const GgufValue& value, F f) {
  return std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        std::array<std::byte, 8> bytes{};
        if constexpr (std::is_arithmetic_v<T>) std::memcpy(bytes.data(), &v, sizeof v);
        return f(gguf_type_of(value), bytes.data());
      },
      value);
}

template <class T>
GgufArray owned(GgufType type, uint64_t count, std::vector<T> data) {
  auto kept = std::make_shared<std::vector<T>>(std::move(data));
  const auto bytes = std::as_bytes(std::span<const T>(*kept));
  return {type, count, bytes, std::move(kept)};
}

constexpr std::array<GgufTensorType, 31> kTensorTypes{{
    {0, "F32", 1, 4, DType::f32},
    {1, "F16", 1, 2, DType::f16},
    {2, "Q4_0", 32, 18, DType::q4_0},
    {3, "Q4_1", 32, 20, DType::q4_1},
    {6, "Q5_0", 32, 22, DType::q5_0},
    {7, "Q5_1", 32, 24, DType::q5_1},
    {8, "Q8_0", 32, 34, DType::q8_0},
    {10, "Q2_K", 256, 84, DType::q2_k},
    {11, "Q3_K", 256, 110, DType::q3_k},
    {12, "Q4_K", 256, 144, DType::q4_k},
    {13, "Q5_K", 256, 176, DType::q5_k},
    {14, "Q6_K", 256, 210, DType::q6_k},
    {16, "IQ2_XXS", 256, 66, {}},
    {17, "IQ2_XS", 256, 74, {}},
    {18, "IQ3_XXS", 256, 98, {}},
    {19, "IQ1_S", 256, 50, {}},
    {20, "IQ4_NL", 32, 18, DType::iq4_nl},
    {21, "IQ3_S", 256, 110, {}},
    {22, "IQ2_S", 256, 82, {}},
    {23, "IQ4_XS", 256, 136, DType::iq4_xs},
    {24, "I8", 1, 1, DType::i8},
    {25, "I16", 1, 2, {}},
    {26, "I32", 1, 4, DType::i32},
    {27, "I64", 1, 8, {}},
    {28, "F64", 1, 8, {}},
    {29, "IQ1_M", 256, 56, {}},
    {30, "BF16", 1, 2, DType::bf16},
    {34, "TQ1_0", 256, 54, {}},
    {35, "TQ2_0", 256, 66, {}},
    {39, "MXFP4", 32, 17, DType::mxfp4},
    {40, "NVFP4", 64, 36, DType::nvfp4},
}};

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  return kTypes[static_cast<size_t>(type)].name;
}
size_t gguf_type_bytes(GgufType type) {
  return kTypes[static_cast<size_t>(type)].bytes;
}

std::optional<std::vector<std::string_view>> GgufArray::texts() const {
  if (type != GgufType::text) return std::nullopt;
  std::vector<std::string_view> all;
  all.reserve(count);  // each takes 8 bytes of the file at least: the reader has compared
  const std::byte* p = bytes.data();
  for (uint64_t i = 0; i < count; ++i) {
    const auto length = at<uint64_t>(p);
    all.emplace_back(reinterpret_cast<const char*>(p) + 8, length);
    p += 8 + length;
  }
  return all;
}

std::optional<std::vector<int64_t>> GgufArray::integers() const {
  const size_t step = gguf_type_bytes(type);
  if (step == 0 || type == GgufType::f32 || type == GgufType::f64) return std::nullopt;
  std::vector<int64_t> all(count);
  for (uint64_t i = 0; i < count; ++i) {
    const auto value = integer_at(type, bytes.data() + i * step);
    if (!value) return std::nullopt;
    all[i] = *value;
  }
  return all;
}

std::optional<std::vector<double>> GgufArray::numbers() const {
  const size_t step = gguf_type_bytes(type);
  if (step == 0) return std::nullopt;
  std::vector<double> all(count);
  for (uint64_t i = 0; i < count; ++i) {
    const auto value = number_at(type, bytes.data() + i * step);
    if (!value) return std::nullopt;
    all[i] = *value;
  }
  return all;
}

GgufArray GgufArray::of_texts(std::span<const std::string> values) {
  std::vector<char> data;
  for (const std::string& text : values) {
    const uint64_t length = text.size();
    std::array<char, 8> head{};
    std::memcpy(head.data(), &length, 8);
    data.insert(data.end(), head.begin(), head.end());
    data.insert(data.end(), text.begin(), text.end());
  }
  return owned(GgufType::text, values.size(), std::move(data));
}
GgufArray GgufArray::of_i32(std::span<const int32_t> values) {
  return owned(GgufType::i32, values.size(), std::vector<int32_t>(values.begin(), values.end()));
}
GgufArray GgufArray::of_f32(std::span<const float> values) {
  return owned(GgufType::f32, values.size(), std::vector<float>(values.begin(), values.end()));
}

std::string gguf_value_text(const GgufValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* list = std::get_if<GgufArray>(&value)) {
    return "a list of " + std::to_string(list->count) + " " + std::string(gguf_type_name(list->type));
  }
  return with_bytes(value, [](GgufType type, const std::byte* p) {
    if (type == GgufType::u64) return std::to_string(at<uint64_t>(p));
    const auto integer = integer_at(type, p);
    return integer ? std::to_string(*integer) : std::to_string(number_at(type, p).value_or(0));
  });
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Error GgufMetadata::wrong_kind(std::string_view key, const GgufValue& value, std::string_view kind) const {
  return {ErrorCode::bad_file, "metadata " + printable(key) + " is not " + std::string(kind),
          "it is " + std::string(gguf_type_name(gguf_type_of(value))) + ": " + gguf_value_text(value),
          "use another copy of the file, or make it again", printable_path(where_)};
}

Result<const GgufValue*> GgufMetadata::need(std::string_view key, std::string_view kind) const {
  if (const GgufValue* found = find(key)) return found;
  return Error{ErrorCode::bad_file, "metadata " + printable(key) + " is missing",
               "it should be " + std::string(kind) + "; the file has " + std::to_string(values_.size()) + " keys",
               "use another copy of the file, or make it again", printable_path(where_)};
}

Result<int64_t> GgufMetadata::get_integer(std::string_view key) const {
  CHIARO_ASSIGN(const GgufValue* value, need(key, "a whole number"));
  const auto integer = with_bytes(*value, integer_at);
  if (!integer || gguf_type_of(*value) == GgufType::boolean) return wrong_kind(key, *value, "a whole number");
  return *integer;
}

Result<double> GgufMetadata::get_number(std::string_view key) const {
  CHIARO_ASSIGN(const GgufValue* value, need(key, "a number"));
  const auto number = with_bytes(*value, number_at);
  if (!number || gguf_type_of(*value) == GgufType::boolean) return wrong_kind(key, *value, "a number");
  return *number;
}

Result<bool> GgufMetadata::get_bool(std::string_view key) const {
  CHIARO_ASSIGN(const GgufValue* value, need(key, "true or false"));
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  return wrong_kind(key, *value, "true or false");
}

Result<std::string> GgufMetadata::get_text(std::string_view key) const {
  CHIARO_ASSIGN(const GgufValue* value, need(key, "a text"));
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  return wrong_kind(key, *value, "a text");
}

template <class T>
Result<T> GgufMetadata::of_list(std::string_view key, std::string_view kind,
                                std::optional<T> (GgufArray::*get)() const) const {
  CHIARO_ASSIGN(const GgufValue* value, need(key, kind));
  if (const auto* list = std::get_if<GgufArray>(value)) {
    if (auto found = (list->*get)()) return std::move(*found);
  }
  return wrong_kind(key, *value, kind);
}

Result<std::vector<std::string_view>> GgufMetadata::get_texts(std::string_view key) const {
  return of_list(key, "a list of texts", &GgufArray::texts);
}
Result<std::vector<int64_t>> GgufMetadata::get_integers(std::string_view key) const {
  return of_list(key, "a list of whole numbers", &GgufArray::integers);
}
Result<std::vector<double>> GgufMetadata::get_numbers(std::string_view key) const {
  return of_list(key, "a list of numbers", &GgufArray::numbers);
}

const GgufTensorType* gguf_tensor_type(uint32_t code) {
  const auto found =
      std::find_if(kTensorTypes.begin(), kTensorTypes.end(), [&](const GgufTensorType& t) { return t.code == code; });
  return found == kTensorTypes.end() ? nullptr : &*found;
}

const GgufTensorType* gguf_tensor_type(DType dtype) {
  const auto found =
      std::find_if(kTensorTypes.begin(), kTensorTypes.end(), [&](const GgufTensorType& t) { return t.dtype == dtype; });
  return found == kTensorTypes.end() ? nullptr : &*found;
}

}  // namespace chiaro
