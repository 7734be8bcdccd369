// Normalisation layers, written unfused: the norm alone, then `mul_` by weight and `add_` of bias.
#pragma once

#include <cstdint>

#include "nn/weights_view.h"

namespace chiaro::nn {

// x [N,...,C] -> the same shape. Weights: weight [C], bias [C]. Wu and He, arXiv:1803.08494.
Value group_norm(const Path& at, int64_t groups, double eps, Value x);
// x [...,C] -> the same shape. Weights: weight [C], bias [C]. Ba et al., arXiv:1607.06450.
Value layer_norm(const Path& at, double eps, Value x);

// The same without weights, as transformers that modulate by time have it.
Value layer_norm_plain(const Path& at, double eps, Value x);
// x [...,C] -> the same shape. Weights: weight [C]. Zhang and Sennrich, arXiv:1910.07467.
Value rms_norm(const Path& at, double eps, Value x);

}  // namespace chiaro::nn
