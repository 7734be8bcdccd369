#include "core/dtype.h"

#include <array>

namespace chiaro {
namespace {

constexpr std::array<DTypeTraits, kDTypeCount> kTraits{{
    {"f32", 1, 4, true},       {"f16", 1, 2, true},       {"bf16", 1, 2, true},        {"f8_e4m3", 1, 1, true},
    {"f8_e5m2", 1, 1, true},   {"i8", 1, 1, false},       {"i32", 1, 4, false},        {"q4_0", 32, 18, false},
    {"q4_1", 32, 20, false},   {"q5_0", 32, 22, false},   {"q5_1", 32, 24, false},     {"q8_0", 32, 34, false},
    {"q2_k", 256, 84, false},  {"q3_k", 256, 110, false}, {"q4_k", 256, 144, false},   {"q5_k", 256, 176, false},
    {"q6_k", 256, 210, false}, {"iq4_nl", 32, 18, false}, {"iq4_xs", 256, 136, false}, {"mxfp4", 32, 17, false},
    {"nvfp4", 64, 36, false},
}};

}  // namespace

const DTypeTraits& traits(DType dtype) {
  return kTraits[static_cast<size_t>(dtype)];
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kTraits[static_cast<size_t>(i)].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::f32: return 0x1p-24;
    case DType::f16: return 0x1p-11;
    case DType::bf16: return 0x1p-8;
    case DType::f8_e4m3: return 0x1p-4;
    case DType::f8_e5m2: return 0x1p-3;
    default: return 0.0;
  }
}

}  // namespace chiaro
