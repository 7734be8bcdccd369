// Which type a tensor gets in a conversion. Internal to convert.
#pragma once

#include <regex>
#include <utility>
#include <vector>

#include "weights/convert.h"

namespace chiaro {

// The shape in which a tensor with joined rows is stored: [count / 256, 256].
Shape joined_rows(const Shape& shape);

enum class ConvertKind { gguf, safetensors };
// Errors: usage where the extension is neither.
Result<ConvertKind> convert_kind(const std::filesystem::path& out);

class TypeChooser {
 public:
  // Errors: usage.
  static Result<TypeChooser> make(const ConvertRequest& request, ConvertKind kind);
  // `number`: whether its elements are numbers to convert (a float or block type, or INT8 with a scale).
  std::pair<DType, ConvertReason> choose(const std::string& name, const Shape& shape, DType from, bool number) const;

 private:
  TypeChooser() = default;
  std::pair<DType, ConvertReason> wanted(const std::string& name, const Shape& shape, DType from) const;

  ConvertKind kind_ = ConvertKind::gguf;
  std::optional<DType> type_;
  bool join_rows_ = false;
  std::vector<std::pair<std::regex, DType>> rules_;
};

}  // namespace chiaro
