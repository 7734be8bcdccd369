// How alike two pictures are.
#pragma once

#include "pipeline/image/image_io.h"

namespace chiaro {

struct ImageDifference {
  double psnr = 0;     // dB over all channels, peak 255; infinity where equal
  double ssim = 0;     // mean structural similarity of the luma, 8x8 windows, in -1..1
  int largest = 0;     // largest difference of a channel
  int64_t pixels = 0;  // pixels that differ
};

// Errors: shape where the sizes differ.
// SSIM: Wang et al., IEEE TIP 13(4), 2004, with uniform 8x8 windows at stride 4; luma of BT.601.
Result<ImageDifference> compare_images(const Image& a, const Image& b);

}  // namespace chiaro
