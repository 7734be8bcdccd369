#include "plan/verify_bytes.h"

#include <algorithm>

namespace chiaro {
namespace {

constexpr int64_t kMostRuns = 1 << 14;  // beyond this many runs two strided views count as touching

}  // namespace

int64_t Extent::span() const {
  int64_t end = run;
  for (size_t d = 0; d < static_cast<size_t>(rank); ++d) end += dims[d].first * (dims[d].second - 1);
  return end;
}

int64_t Extent::runs() const {
  int64_t n = run > 0 ? 1 : 0;
  for (size_t d = 0; d < static_cast<size_t>(rank); ++d) n *= dims[d].second;
  return n;
}

Extent extent_of(const TensorDesc& desc) {
  Extent e;
  if (desc.count() == 0) return e;
  if (is_block(desc.dtype)) return solid_extent(desc.dense_bytes());
  e.run = unit_bytes(desc.dtype);
  std::array<std::pair<int64_t, int64_t>, kMaxRank> dims{};
  size_t n = 0;
  for (int d = 0; d < desc.rank(); ++d) {
    if (desc.shape[d] > 1 && desc.strides[d] != 0) dims[n++] = {desc.strides[d] * e.run, desc.shape[d]};
  }
  std::sort(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(n));
  for (size_t i = 0; i < n; ++i) {
    const auto [stride, count] = dims[i];
    if (e.rank == 0 && stride <= e.run) {
      e.run += stride * (count - 1);
    } else if (stride < e.span()) {  // rows that interleave: taken as solid
      e = solid_extent(e.span() + stride * (count - 1));
    } else {
      e.dims[static_cast<size_t>(e.rank++)] = {stride, count};
    }
  }
  return e;
}

bool touches(const Extent& e, int64_t a, int64_t b) {
  if (e.run == 0) return false;
  for (int d = e.rank - 1; d >= 0; --d) {
    if (b <= 0 || a >= b) return false;
    const auto [stride, count] = e.dims[static_cast<size_t>(d)];
    const int64_t next = a <= 0 ? 0 : (a + stride - 1) / stride;  // the first block that starts in or behind [a, b)
    if (next < count && next * stride < b) return true;
    const int64_t before = std::min(next, count) - 1;  // the only one that may reach in from below
    if (before < 0) return false;
    a -= before * stride;
    b -= before * stride;
  }
  return a < b && a < e.run && b > 0;
}

bool common_byte(const Extent& x, int64_t at_x, const Extent& y, int64_t at_y, int64_t a, int64_t b) {
  if (x.runs() > y.runs()) return common_byte(y, at_y, x, at_x, a, b);
  if (x.run == 0 || y.run == 0 || !touches(x, a - at_x, b - at_x) || !touches(y, a - at_y, b - at_y)) return false;
  if (x.runs() > kMostRuns) return true;
  bool found = false;
  for_each_run(x, [&](int64_t begin, int64_t end) {
    found = found || touches(y, std::max(a, at_x + begin) - at_y, std::min(b, at_x + end) - at_y);
  });
  return found;
}

}  // namespace chiaro
