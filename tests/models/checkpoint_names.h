// Files of tensors by the names of tests/golden/single_file, for detection and names: shapes without data.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "weights/weight_map.h"

namespace chiaro::test {

// tests/golden/single_file/FILE
nlohmann::json checkpoint_names(const char* file);
Shape shape_of(const nlohmann::json& json);

using NamedShapes = std::vector<std::pair<std::string, Shape>>;
// The original names of sections of a golden file, without the prefix that they have there.
NamedShapes unet_file(const char* file);
NamedShapes vae_file();     // of SD 1.5, and of SD 2.x
NamedShapes clip_l_file();  // "text_model..."
// OpenCLIP ViT-H with its last layer and what compares texts to pictures.
NamedShapes open_clip_file();

NamedShapes below(const std::string& prefix, NamedShapes tensors);
NamedShapes together(std::initializer_list<NamedShapes> lists);
// SD 1.5 and SD 2.1 as they were published.
NamedShapes sd1_file();
NamedShapes sd2_file();

WeightMap tensors_without_data(const NamedShapes& tensors);

}  // namespace chiaro::test
