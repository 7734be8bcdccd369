// Which family a file comes nearest to, by the share of its tensors: for messages about files that do not fit.
#pragma once

#include <cstdint>
#include <string>

#include "models/detect.h"
#include "weights/weight_map.h"

namespace chiaro::models {

// Where each network's tensors may be: the same file, or three, below any prefix.
struct NetworkFiles {
  const WeightMap* unet = nullptr;
  const WeightMap* vae = nullptr;
  const WeightMap* clip = nullptr;
};

struct Nearest {
  Family family = Family::sd1;
  int64_t matched = 0;  // tensors of the family's networks that are there, in their shapes
  int64_t needed = 0;
  // "nearest is Stable Diffusion 1.x: 686 of 1130 tensors match (60 %)"
  std::string text() const;
};
Nearest nearest_family(const NetworkFiles& files);

}  // namespace chiaro::models
