#include "metal_text.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace softmetal::detail {
namespace {

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Words and single characters; comments and lines of the preprocessor left out.
std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  bool line_start = true;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      line_start = true;
      ++i;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++i;
    } else if ((c == '#' && line_start) || text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
    } else {
      size_t end = i + 1;
      while (in_word(c) && end < text.size() && in_word(text[end])) ++end;
      tokens.push_back(text.substr(i, end - i));
      i = end;
      line_start = false;
    }
  }
  return tokens;
}

MTL::DataType type_of(std::string_view name) {
  if (name == "bool") return MTL::DataTypeBool;
  if (name == "int") return MTL::DataTypeInt;
  if (name == "uint") return MTL::DataTypeUInt;
  if (name == "float") return MTL::DataTypeFloat;
  if (name == "half") return MTL::DataTypeHalf;
  if (name == "short") return MTL::DataTypeShort;
  if (name == "ushort") return MTL::DataTypeUShort;
  return MTL::DataTypeNone;
}

struct Reader {
  std::vector<std::string_view> tokens;
  MetalText found;
  std::map<std::string_view, std::set<std::string_view>> mentions;  // by function, overloads together
  std::vector<std::string_view> kernel_names;

  // constant TYPE NAME [ [ function_constant ( INDEX
  void read_constants() {
    for (size_t i = 0; i + 7 < tokens.size(); ++i) {
      if (tokens[i] != "constant" || tokens[i + 3] != "[" || tokens[i + 5] != "function_constant") continue;
      found.constants.push_back(
          {std::string(tokens[i + 2]), type_of(tokens[i + 1]), std::atoi(std::string(tokens[i + 7]).c_str())});
    }
  }

  // The functions at the outermost level, that of namespaces included.
  void read_functions() {
    size_t head = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const std::string_view token = tokens[i];
      if (token == ";" || token == "}") {
        head = i + 1;
        continue;
      }
      if (token != "{") continue;
      const bool space =
          std::find(tokens.begin() + static_cast<std::ptrdiff_t>(head), tokens.begin() + static_cast<std::ptrdiff_t>(i),
                    "namespace") != tokens.begin() + static_cast<std::ptrdiff_t>(i);
      if (space) {
        head = i + 1;
        continue;
      }
      const size_t end = closing(i);
      read_function(head, i, end);
      i = end;
      head = end + 1;
    }
  }

  size_t closing(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < tokens.size(); ++i) {
      if (tokens[i] == "{") ++depth;
      if (tokens[i] == "}" && --depth == 0) return i;
    }
    return tokens.size() - 1;
  }

  void read_function(size_t head, size_t open, size_t end) {
    bool kernel = false;
    for (size_t i = head; i < open; ++i) {
      if (tokens[i] == "kernel") kernel = true;
      if (tokens[i] != "(" || i == head) continue;
      const std::string_view name = tokens[i - 1];
      if (kernel) kernel_names.push_back(name);
      for (size_t t = open; t < end; ++t) {
        if (in_word(tokens[t].front())) mentions[name].insert(tokens[t]);
      }
      return;
    }
  }

  std::set<int> constants_of(std::string_view kernel) const {
    std::set<std::string_view> seen{kernel};
    std::vector<std::string_view> open{kernel};
    std::set<int> indices;
    while (!open.empty()) {
      const auto function = mentions.find(open.back());
      open.pop_back();
      if (function == mentions.end()) continue;
      for (const std::string_view word : function->second) {
        if (!seen.insert(word).second) continue;
        if (mentions.count(word) != 0) open.push_back(word);
        for (const TextConstant& constant : found.constants) {
          if (constant.name == word) indices.insert(constant.index);
        }
      }
    }
    return indices;
  }
};

}  // namespace

const TextConstant* MetalText::constant(int index) const {
  for (const TextConstant& constant : constants) {
    if (constant.index == index) return &constant;
  }
  return nullptr;
}

MetalText read_metal_text(std::string_view text) {
  Reader reader;
  reader.tokens = tokens_of(text);
  if (reader.tokens.empty()) return {};
  reader.read_constants();
  reader.read_functions();
  for (const std::string_view name : reader.kernel_names) {
    reader.found.kernels[std::string(name)] = reader.constants_of(name);
  }
  return std::move(reader.found);
}

const char* data_type_name(MTL::DataType type) {
  switch (type) {
    case MTL::DataTypeBool: return "bool";
    case MTL::DataTypeInt: return "int";
    case MTL::DataTypeUInt: return "uint";
    case MTL::DataTypeFloat: return "float";
    case MTL::DataTypeHalf: return "half";
    case MTL::DataTypeShort: return "short";
    case MTL::DataTypeUShort: return "ushort";
    default: return "a type that kernels do not take";
  }
}

}  // namespace softmetal::detail
