// The small model of tests/golden/sd2, written to a diffusers folder: formula weights, the shipped tokenizer with
// OpenCLIP's padding, and one of the cases' schedulers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/dtype.h"

namespace chiaro::testing {

// tests/golden/sd2/cases.json
nlohmann::json small_cases();

// How the weights of linear layers and convolutions are stored: as they are, or in 8 bits with scales.
struct SmallWeights {
  DType dtype = DType::f32;  // or f8_e4m3, f8_e5m2, i8
  bool per_row = true;       // a scale for every row, as "X.weight_scale"; else one for all, as "X.scale_weight"
};
// Returns the folder's path.
std::string write_small_model(const std::string& name, const nlohmann::json& scheduler_case,
                              const SmallWeights& how = {});

}  // namespace chiaro::testing
