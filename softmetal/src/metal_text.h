// What a Metal text declares: its kernels, and the function constants that each of them needs. No compiler: tokens,
// braces and calls by name are enough for that.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "softmetal/softmetal.h"

namespace softmetal::detail {

struct TextConstant {
  std::string name;
  MTL::DataType type = MTL::DataTypeNone;
  int index = 0;
};

struct MetalText {
  std::vector<TextConstant> constants;
  // A kernel, and the indices of the constants that it, or a function that it calls, mentions.
  std::map<std::string, std::set<int>> kernels;

  const TextConstant* constant(int index) const;
};

MetalText read_metal_text(std::string_view text);
const char* data_type_name(MTL::DataType type);

}  // namespace softmetal::detail
