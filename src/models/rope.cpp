#include "models/rope.h"

#include <cmath>

namespace chiaro::models {

RopeTable::RopeTable(std::span<const int64_t> dims, double theta, RopeRounding rounding) {
  for (const int64_t dim : dims) {
    Axis axis;
    for (int64_t i = 0; i < dim; i += 2) {
      const double share = static_cast<double>(i) / static_cast<double>(dim);
      double frequency = 0;
      if (rounding == RopeRounding::f64) {
        frequency = 1.0 / std::pow(theta, share);
      } else {  // each step rounded, as a sequence of f32 operations does
        const auto power = static_cast<float>(std::pow(theta, static_cast<double>(static_cast<float>(share))));
        frequency = static_cast<double>(1.0F / power);
      }
      axis.frequencies.push_back(frequency);
    }
    pairs_ += static_cast<int64_t>(axis.frequencies.size());
    axes_.push_back(std::move(axis));
  }
}

const std::vector<float>& RopeTable::row(Axis& axis, int64_t position) const {
  std::vector<float>& row = axis.rows[position];
  if (!row.empty()) return row;
  row.reserve(axis.frequencies.size() * 4);
  for (const double frequency : axis.frequencies) {
    const auto angle = static_cast<float>(static_cast<double>(position) * frequency);
    const auto cosine = static_cast<float>(std::cos(static_cast<double>(angle)));
    const auto sine = static_cast<float>(std::sin(static_cast<double>(angle)));
    for (const float value : {cosine, -sine, sine, cosine}) row.push_back(value);
  }
  return row;
}

void RopeTable::add(std::span<const int64_t> positions) {
  for (size_t i = 0; i < axes_.size(); ++i) {
    const std::vector<float>& part = row(axes_[i], positions[i]);
    values_.insert(values_.end(), part.begin(), part.end());
  }
  ++tokens_;
}

Value RopeTable::constant(GraphBuilder& g, const std::string& name) const {
  return g.constant(make_tensor(name, DType::f32, {tokens_, pairs_, 2, 2}, values_));
}

}  // namespace chiaro::models
