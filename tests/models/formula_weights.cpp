#include "formula_weights.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

namespace chiaro::test {
namespace {

TensorDataPtr formula_tensor(const std::string& name, const FormulaWeights::Entry& entry) {
  std::vector<float> values(static_cast<size_t>(element_count(entry.shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(formula_value(name, i) * entry.scale + entry.offset);
  }
  return make_tensor(name, DType::f32, entry.shape, values);
}

template <class T>
std::vector<T> values_of(const TensorDataPtr& tensor, DType dtype) {
  if (tensor == nullptr || tensor->desc.dtype != dtype) {
    ADD_FAILURE() << "no such golden tensor";
    return {};
  }
  std::vector<T> values(static_cast<size_t>(tensor->desc.count()));
  std::memcpy(values.data(), tensor->bytes, values.size() * sizeof(T));
  return values;
}

}  // namespace

double formula_value(std::string_view name, uint64_t i) {
  uint64_t key = 0xcbf29ce484222325u;
  for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  uint64_t z = key + i * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return 2 * (static_cast<double>(z >> 40) * 0x1p-24) - 1;
}

FormulaWeights FormulaWeights::open(const std::filesystem::path& tensors_json) {
  FormulaWeights weights;
  std::ifstream file(tensors_json);
  const auto json = nlohmann::json::parse(file);
  for (const auto& [name, tensor] : json.items()) {
    Entry entry;
    for (const auto& dim : tensor.at("shape")) entry.shape.push_back(dim.get<int64_t>());
    entry.scale = tensor.at("scale").get<double>();
    entry.offset = tensor.at("offset").get<double>();
    weights.entries_.emplace(name, entry);
  }
  EXPECT_FALSE(weights.entries_.empty());
  return weights;
}

Result<TensorDataPtr> FormulaWeights::take(std::string_view name, const Shape& shape) {
  const auto at = entries_.find(name);
  if (at == entries_.end()) {
    return Error{ErrorCode::bad_file, "tensor " + std::string(name) + " is missing", "", "", ""};
  }
  if (!same_up_to_ones(at->second.shape, shape)) {
    return Error{ErrorCode::shape, "tensor " + std::string(name), at->second.shape.text() + " " + shape.text(), "", ""};
  }
  if (!taken_.insert(at->first).second) twice_.insert(at->first);
  return formula_tensor(at->first, {shape, at->second.scale, at->second.offset});
}

std::vector<TensorDataPtr> FormulaWeights::all() const {
  std::vector<TensorDataPtr> tensors;
  for (const auto& [name, entry] : entries_) tensors.push_back(formula_tensor(name, entry));
  return tensors;
}

std::vector<std::string> FormulaWeights::untaken() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) {
    if (taken_.count(name) == 0) names.push_back(name);
  }
  return names;
}

Result<TensorDataPtr> RecordingWeights::take(std::string_view name, const Shape& shape) {
  EXPECT_TRUE(asked_.emplace(std::string(name), shape).second) << name << " is taken twice";
  auto tensor = std::make_shared<TensorData>();
  tensor->name = std::string(name);
  tensor->desc = dense(DType::f16, shape);
  return TensorDataPtr(std::move(tensor));
}

GoldenCase GoldenCase::open(const std::string& net, const std::string& name) {
  const auto folder = std::filesystem::path(CHIARO_SOURCE_DIR) / "tests/golden" / net / name;
  auto config = JsonConfig::open(folder / "config.json");
  auto io = SafetensorsFile::open(folder / "io.safetensors");
  EXPECT_TRUE(config.ok()) << config.error().format();
  EXPECT_TRUE(io.ok()) << io.error().format();
  return {folder, std::move(config).value(), FormulaWeights::open(folder / "tensors.json"), std::move(io).value()};
}

Shape GoldenCase::shape(std::string_view tensor) const {
  const TensorDataPtr found = io.find(tensor);
  EXPECT_NE(found, nullptr) << tensor;
  return found == nullptr ? Shape{} : found->desc.shape;
}

std::vector<float> GoldenCase::floats(std::string_view tensor) const {
  return values_of<float>(io.find(tensor), DType::f32);
}

std::vector<int32_t> GoldenCase::ints(std::string_view tensor) const {
  return values_of<int32_t>(io.find(tensor), DType::i32);
}

}  // namespace chiaro::test
