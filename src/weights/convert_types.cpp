#include "weights/convert_types.h"

#include <algorithm>
#include <array>

#include "core/ascii.h"
#include "core/utf8_path.h"
#include "weights/gguf_values.h"
#include "weights/printable.h"
#include "weights/safetensors_header.h"

namespace chiaro {
namespace {

constexpr int64_t kJoinedRow = 256;       // elements: blocks of every type divide it
constexpr size_t kMaxMatchedName = 1024;  // std::regex needs stack for every letter

// Parts of the names of small layers that feed all others. stable-diffusion.cpp's converter keeps the same ones:
// embeddings of tokens, positions, times and labels, and the first and last layers of diffusion transformers.
constexpr std::array<std::string_view, 14> kKeptParts{
    "embedding",         "time_embed.", "label_emb.", "pos_embed", "x_embedder.", "t_embedder.",  "y_embedder.",
    "context_embedder.", "img_in.",     "txt_in.",    "time_in.",  "vector_in.",  "guidance_in.", "final_layer."};

bool kept_by_name(std::string_view name) {
  if (name.ends_with(".bias") || name.ends_with(".scale")) return true;
  return std::any_of(kKeptParts.begin(), kKeptParts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

// Types that every program reads without a thought.
bool plain(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}
bool narrow(DType type) {
  return is_block(type) || type == DType::f8_e4m3 || type == DType::f8_e5m2;
}
bool holds(ConvertKind kind, DType type) {
  return kind == ConvertKind::gguf ? gguf_tensor_type(type) != nullptr : !safetensors_dtype_name(type).empty();
}

Status check_holds(ConvertKind kind, DType type) {
  const std::string name(dtype_name(type));
  if (!is_float(type) && !is_block(type)) {
    return Error{ErrorCode::usage, "weights cannot be converted to " + name, "it holds integers",
                 "use f16, q8_0, q4_k or another type of weights", ""};
  }
  if (holds(kind, type)) return {};
  if (kind == ConvertKind::safetensors) {
    return Error{ErrorCode::usage, "a safetensors file cannot hold " + name,
                 "the format has f32, f16, bf16 and FP8, no block types", "write a .gguf file", ""};
  }
  return Error{ErrorCode::usage, "a GGUF file cannot hold " + name, "the format has no FP8",
               "write a .safetensors file, or use q8_0", ""};
}

}  // namespace

std::optional<DType> convert_type_from_name(std::string_view name) {
  const std::string text = ascii_lower(name);
  constexpr std::array<std::pair<std::string_view, DType>, 7> kOther{{{"fp32", DType::f32},
                                                                      {"fp16", DType::f16},
                                                                      {"fp8", DType::f8_e4m3},
                                                                      {"f8_e4m3fn", DType::f8_e4m3},
                                                                      {"fp8_e4m3", DType::f8_e4m3},
                                                                      {"fp8_e4m3fn", DType::f8_e4m3},
                                                                      {"fp8_e5m2", DType::f8_e5m2}}};
  for (const auto& [other, type] : kOther) {
    if (text == other) return type;
  }
  return dtype_from_name(text);
}

std::string_view convert_reason_text(ConvertReason reason) {
  switch (reason) {
    case ConvertReason::asked: return "as asked";
    case ConvertReason::rule: return "by a rule";
    case ConvertReason::stored: return "as stored";
    case ConvertReason::small: return "norms, biases, embeddings and the like";
    case ConvertReason::joined: return "as asked, in joined rows";
    case ConvertReason::rows: return "blocks do not divide the rows";
    case ConvertReason::container: return "the file format has no such type";
  }
  return "";
}

Shape joined_rows(const Shape& shape) {
  return {element_count(shape) / kJoinedRow, kJoinedRow};
}

Result<ConvertKind> convert_kind(const std::filesystem::path& out) {
  const std::filesystem::path extension = out.extension();
  if (extension == ".gguf") return ConvertKind::gguf;
  if (extension == ".safetensors") return ConvertKind::safetensors;
  return Error{ErrorCode::usage, "cannot tell which kind of file " + printable_path(path_to_utf8(out)) + " is to be",
               "its name ends in neither .gguf nor .safetensors", "give it one of these endings", ""};
}

Result<TypeChooser> TypeChooser::make(const ConvertRequest& request, ConvertKind kind) {
  TypeChooser chooser;
  chooser.kind_ = kind;
  chooser.type_ = request.type;
  chooser.join_rows_ = request.join_rows;
  if (request.join_rows && kind != ConvertKind::gguf) {
    return Error{ErrorCode::usage, "rows can be joined in a GGUF file only", "", "write a .gguf file", ""};
  }
  if (request.type) CHIARO_TRY(check_holds(kind, *request.type));
  for (const ConvertRule& rule : request.rules) {
    CHIARO_TRY(check_holds(kind, rule.type));
    try {
      chooser.rules_.emplace_back(std::regex(rule.pattern, std::regex::ECMAScript), rule.type);
    } catch (const std::regex_error& error) {
      return Error{ErrorCode::usage, printable(rule.pattern) + " is not a regular expression", error.what(),
                   "use ECMAScript's syntax, such as \"attn.*weight\"", ""};
    }
  }
  return chooser;
}

std::pair<DType, ConvertReason> TypeChooser::wanted(const std::string& name, const Shape& shape, DType from) const {
  for (const auto& [pattern, type] : rules_) {
    if (name.size() <= kMaxMatchedName && std::regex_search(name, pattern)) return {type, ConvertReason::rule};
  }
  if (!type_) return {from, ConvertReason::stored};
  const bool small = shape.rank() <= 1 || (narrow(*type_) && kept_by_name(name));
  if (small && *type_ != DType::f32) return {plain(from) ? from : DType::f16, ConvertReason::small};
  return {*type_, ConvertReason::asked};
}

std::pair<DType, ConvertReason> TypeChooser::choose(const std::string& name, const Shape& shape, DType from,
                                                    bool number) const {
  if (!number) return {from, ConvertReason::stored};
  auto [type, reason] = wanted(name, shape, from);
  if (!holds(kind_, type)) return {DType::f16, ConvertReason::container};
  const int64_t row = shape.rank() == 0 ? 1 : shape[-1];
  if (row % traits(type).block_elements == 0) return {type, reason};
  // Only convolutions of more than one pixel: their kernels read a run of blocks. Products need whole rows, and a 1x1
  // convolution may be computed as one.
  const bool convolution = shape.rank() >= 4 && shape[-1] * shape[-2] > 1;
  if (join_rows_ && convolution && element_count(shape) % kJoinedRow == 0) return {type, ConvertReason::joined};
  return {row % traits(DType::q8_0).block_elements == 0 ? DType::q8_0 : DType::f16, ConvertReason::rows};
}

}  // namespace chiaro
