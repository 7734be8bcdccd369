// Where layers get their weights from, and where in a model they stand.
//
// A layer is a function `Value layer(const Path& at, ..., Value x)`: `at` says below which name its weights lie. It
// opens a Layer, reads weights under their names, and hands `layer["conv1"]` to the layers inside it, so that labels of
// nodes and names of weights are the same: "down_blocks.0.resnets.1.conv1".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/tensor.h"
#include "graph/builder.h"
#include "weights/weight_map.h"

namespace chiaro::nn {

// What a model reads its weights from. Names are canonical: those of diffusers and transformers.
// Thread rule: one thread at a time.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // The tensor `name` with exactly `shape` (one that differs by dimensions of 1 serves: [O,I] and [O,I,1,1]). Errors:
  // bad_file where it is missing, shape where it differs.
  virtual Result<TensorDataPtr> take(std::string_view name, const Shape& shape) = 0;
  // What the stored values of the weight `name` must be multiplied by (FP8): one element, or one per output channel.
  // nullptr where there is nothing to multiply by.
  virtual TensorDataPtr take_scale(std::string_view name) = 0;
};

// The tensors of a checkpoint, already renamed to canonical names.
class MapSource final : public WeightSource {
 public:
  explicit MapSource(WeightMap map) : map_(std::move(map)) {}
  Result<TensorDataPtr> take(std::string_view name, const Shape& shape) override { return map_.take(name, shape); }
  TensorDataPtr take_scale(std::string_view name) override { return map_.take_scale(name); }

 private:
  WeightMap map_;
};

// A place in a model: a graph under construction, a source of weights, and a name. Cheap to copy. The builder and the
// source must outlive it.
class Path {
 public:
  Path(GraphBuilder& g, WeightSource& source, std::string_view name = {}) : g_(&g), source_(&source), label_(name) {
    if (!label_.empty()) prefix_ = label_ + ".";
  }
  Path operator[](std::string_view name) const;
  Path operator[](int64_t index) const { return (*this)[std::to_string(index)]; }

  GraphBuilder& graph() const { return *g_; }

 private:
  friend class Layer;
  GraphBuilder* g_;
  WeightSource* source_;
  std::string prefix_;  // of weights, from the root of the model: empty, or ending in a dot
  std::string label_;   // what a Layer opened here adds to the labels of nodes
};

// The inside of a layer, for as long as its function runs: nodes made meanwhile are labelled with its name.
class Layer {
 public:
  explicit Layer(const Path& at) : at_(at) {
    if (!at_.label_.empty()) scope_.emplace(*at_.g_, at_.label_);
    at_.label_.clear();
  }

  Path operator[](std::string_view name) const { return at_[name]; }
  // This layer again, for a layer whose weights lie beside its own, without a name in between.
  Path here() const { return at_; }
  GraphBuilder& graph() const { return *at_.g_; }
  // The weight `name` of this layer. A missing or misshapen one is recorded in the builder; the result is then invalid.
  Value weight(std::string_view name, const Shape& shape) const;
  // The scale of the weight `name`: [1] or [channels], or kNone.
  Value scale(std::string_view name, int64_t channels) const;
  // Records an error of this layer in the builder. Returns kNone.
  Value refuse(std::string what, std::string why, std::string mend) const;

 private:
  Path at_;
  std::optional<GraphBuilder::Scope> scope_;
};

}  // namespace chiaro::nn
