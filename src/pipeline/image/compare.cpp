#include "pipeline/image/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace chiaro {
namespace {

std::vector<double> luma(const Image& image) {
  std::vector<double> out(image.rgb.size() / 3);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = 0.299 * image.rgb[i * 3] + 0.587 * image.rgb[i * 3 + 1] + 0.114 * image.rgb[i * 3 + 2];
  }
  return out;
}

double window_ssim(const std::vector<double>& a, const std::vector<double>& b, int width, int x0, int y0, int w,
                   int h) {
  constexpr double kC1 = (0.01 * 255) * (0.01 * 255), kC2 = (0.03 * 255) * (0.03 * 255);
  double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
  for (int y = y0; y < y0 + h; ++y) {
    for (int x = x0; x < x0 + w; ++x) {
      const auto i = static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
      sa += a[i];
      sb += b[i];
      saa += a[i] * a[i];
      sbb += b[i] * b[i];
      sab += a[i] * b[i];
    }
  }
  const double n = static_cast<double>(w) * h;
  const double ma = sa / n, mb = sb / n;
  const double va = saa / n - ma * ma, vb = sbb / n - mb * mb, cov = sab / n - ma * mb;
  return (2 * ma * mb + kC1) * (2 * cov + kC2) / ((ma * ma + mb * mb + kC1) * (va + vb + kC2));
}

double mean_ssim(const Image& a, const Image& b) {
  constexpr int kWindow = 8, kStride = 4;
  const std::vector<double> la = luma(a), lb = luma(b);
  const int w = std::min(kWindow, a.width), h = std::min(kWindow, a.height);
  double sum = 0;
  int64_t windows = 0;
  for (int y = 0; y + h <= a.height; y += kStride) {
    for (int x = 0; x + w <= a.width; x += kStride, ++windows) sum += window_ssim(la, lb, a.width, x, y, w, h);
  }
  return sum / static_cast<double>(windows);
}

}  // namespace

Result<ImageDifference> compare_images(const Image& a, const Image& b) {
  if (a.width != b.width || a.height != b.height) {
    return Error{ErrorCode::shape, "the pictures have different sizes",
                 std::to_string(a.width) + "x" + std::to_string(a.height) + " against " + std::to_string(b.width) +
                     "x" + std::to_string(b.height),
                 "compare pictures of one size", ""};
  }
  ImageDifference d;
  double squares = 0;
  for (size_t i = 0; i < a.rgb.size(); i += 3) {
    bool differs = false;
    for (size_t c = 0; c < 3; ++c) {
      const int delta = std::abs(int{a.rgb[i + c]} - int{b.rgb[i + c]});
      d.largest = std::max(d.largest, delta);
      squares += static_cast<double>(delta) * delta;
      differs = differs || delta != 0;
    }
    d.pixels += differs ? 1 : 0;
  }
  const double mse = squares / static_cast<double>(a.rgb.size());
  d.psnr = mse == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(255.0 * 255.0 / mse);
  d.ssim = mean_ssim(a, b);
  return d;
}

}  // namespace chiaro
