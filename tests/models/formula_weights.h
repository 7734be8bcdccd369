// Weights by the formula of tests/golden/README.md, and the golden cases that use them.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nn/weights_view.h"
#include "weights/json_config.h"
#include "weights/safetensors.h"

namespace chiaro::test {

// Element i of the tensor `name`, before scale and offset: even in [-1, 1).
double formula_value(std::string_view name, uint64_t i);

// Hands out exactly the tensors listed in a tensors.json and notes which were taken.
class FormulaWeights final : public nn::WeightSource {
 public:
  struct Entry {
    Shape shape;
    double scale = 0, offset = 0;
  };
  static FormulaWeights open(const std::filesystem::path& tensors_json);

  Result<TensorDataPtr> take(std::string_view name, const Shape& shape) override;
  TensorDataPtr take_scale(std::string_view) override { return nullptr; }

  // Every tensor as data, for files and maps.
  std::vector<TensorDataPtr> all() const;
  // Listed, but never taken.
  std::vector<std::string> untaken() const;
  // Taken more than once.
  const std::set<std::string>& taken_twice() const { return twice_; }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  std::set<std::string> taken_, twice_;
};

// Gives every tensor that is asked for, without data, and notes name and shape: what a model needs.
class RecordingWeights final : public nn::WeightSource {
 public:
  Result<TensorDataPtr> take(std::string_view name, const Shape& shape) override;
  TensorDataPtr take_scale(std::string_view) override { return nullptr; }
  const std::map<std::string, Shape, std::less<>>& asked() const { return asked_; }

 private:
  std::map<std::string, Shape, std::less<>> asked_;
};

// tests/golden/NET/CASE
struct GoldenCase {
  std::filesystem::path folder;
  JsonConfig config;
  FormulaWeights weights;
  SafetensorsFile io;

  static GoldenCase open(const std::string& net, const std::string& name);
  Shape shape(std::string_view tensor) const;
  std::vector<float> floats(std::string_view tensor) const;
  std::vector<int32_t> ints(std::string_view tensor) const;
};

}  // namespace chiaro::test
