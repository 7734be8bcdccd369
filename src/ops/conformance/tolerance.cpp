#include "ops/conformance/tolerance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "core/tensor.h"
#include "ops/conformance/reference_eval.h"

namespace chiaro {
namespace {

double smallest_normal(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-14;
    case DType::f8_e4m3: return 0x1p-6;
    case DType::f8_e5m2: return 0x1p-14;
    default: return 0x1p-126;
  }
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

std::string Mismatch::text(const Shape& shape) const {
  Dims index = Dims::filled(shape.rank(), 0);
  int64_t rest = element;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = rest % shape[d];
    rest /= shape[d];
  }
  char numbers[160];
  const double shown = std::isnan(got) ? std::fabs(got) : got;  // poison is a negative NaN
  std::snprintf(numbers, sizeof numbers, " is %.9g, expected %.9g within %.3g (%lld of %lld elements are off)", shown,
                expected, bound, static_cast<long long>(count), static_cast<long long>(element_count(shape)));
  return index.text() + numbers;
}

double largest_finite(const RefTensor& tensor) {
  double largest = 0;
  for (const double value : tensor.data) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

std::optional<Mismatch> compare(const Case& c, DType dtype, const std::byte* got, const RefTensor& expected,
                                double before_act) {
  const double scale = std::max({c.floor, smallest_normal(dtype), largest_finite(expected), before_act});
  const double relative = std::max(epsilon(dtype), epsilon(DType::f32) * std::sqrt(static_cast<double>(c.k)));
  const double bound = is_float(dtype) ? std::min(c.c, 4.0) * relative * scale : 0;
  std::optional<Mismatch> first;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    const double value = load_element(dtype, got, static_cast<int64_t>(i)), ref = expected.data[i];
    const double stored = rounded_to(dtype, ref);
    const bool right = same(value, stored) || std::fabs(value - ref) <= bound;
    if (right) continue;
    if (!first) first = Mismatch{static_cast<int64_t>(i), value, ref, bound, 0};
    ++first->count;
  }
  return first;
}

}  // namespace chiaro
