// Tables of rotary embeddings over several axes: a token has a position on each axis, and every axis turns its own part
// of a head's pairs. Su et al., arXiv:2104.09864; over axes as in Flux and its followers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/builder.h"

namespace chiaro::models {

// How the model that was trained rounded its frequencies. Angles are f32 in both.
enum class RopeRounding { f64, f32 };

// Made once for a size, token by token. Owns its numbers. Thread rule: one thread.
class RopeTable {
 public:
  // `dims`: how much of a head each axis turns (even). Frequency i of an axis of dimension d is theta^(-2i/d).
  RopeTable(std::span<const int64_t> dims, double theta, RopeRounding rounding);

  // The next token. One position an axis; negative ones turn the other way.
  void add(std::span<const int64_t> positions);
  int64_t tokens() const { return tokens_; }
  // f32 [L,d/2,2,2] for rope_apply, d the sum of `dims`: a constant of the graph.
  Value constant(GraphBuilder& g, const std::string& name) const;

 private:
  struct Axis {
    std::vector<double> frequencies;
    std::unordered_map<int64_t, std::vector<float>> rows;  // position -> 2x2 matrices: made once, used by many tokens
  };
  const std::vector<float>& row(Axis& axis, int64_t position) const;

  std::vector<Axis> axes_;
  std::vector<float> values_;
  int64_t tokens_ = 0, pairs_ = 0;
};

}  // namespace chiaro::models
