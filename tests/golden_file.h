// Golden tensors for tests: tests/golden/<path>, as float vectors.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "weights/safetensors.h"

namespace chiaro::testing {

inline SafetensorsFile open_golden(const std::string& path) {
  auto file = SafetensorsFile::open(std::string(CHIARO_SOURCE_DIR) + "/tests/golden/" + path);
  if (!file.ok()) {
    ADD_FAILURE() << file.error().format();
    std::abort();  // nothing in this program can run without its golden numbers
  }
  return std::move(file).value();
}

inline std::vector<float> golden(const SafetensorsFile& file, const std::string& name) {
  const TensorDataPtr tensor = file.find(name);
  if (!tensor) {
    ADD_FAILURE() << "no golden tensor " << name;
    return {};
  }
  std::vector<float> out(static_cast<size_t>(tensor->desc.count()));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(load_element(tensor->desc.dtype, tensor->bytes, static_cast<int64_t>(i)));
  }
  return out;
}

// Largest |a - b| over the largest |b|.
inline double relative_error(std::span<const float> a, std::span<const float> b) {
  double difference = 0, scale = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    difference = std::max(difference, std::abs(double{a[i]} - double{b[i]}));
    scale = std::max(scale, std::abs(double{b[i]}));
  }
  return scale > 0 ? difference / scale : difference;
}

}  // namespace chiaro::testing
