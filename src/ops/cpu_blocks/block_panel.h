// Block-quantised weights as panels of columns: made once, in the bytes that the blocks have, and decoded in vectors of
// columns (block_panel-inl.h).
//
// A panel holds `width` columns (rows of the weight), k steps each, in width * k / kElements * kBytes bytes: first the
// codes, then the scales.
//
//   codes    part by part (32 steps). A part is kWords lines of 32-bit words, one word a column, that hold kLow bits of
//            a code each, step after step from the lowest bit on; then kHigh lines with the kHigh bits above those.
//            Line h of them belongs to words h * kLow / kHigh and following: the bits of the code that begins at bit b
//            of word w are bits b + kHigh * (w % (kLow / kHigh)) and following, so that one shift puts them above the
//            others. Codes are stored without sign: + kMiddle.
//   scales   block by block, each line `width` numbers:
//            kOne    d, and dmin where there are minima, as f16
//            kFloat  the scale codes of the block's groups, as bytes
//            kWhole  d and dmin as kOne; then the whole numbers (scales of all groups, then minima, + kScaleMiddle) by
//                    eights: their lower four bits as a line of 32-bit words for each eight, then, of six bits, the
//                    upper two as a line of 16-bit words for each; of eight bits, a line of bytes for each number.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/block_formats_layout.h"

namespace chiaro {

// Sizes of a panel of one layout, of one column where they are bytes.
template <class Layout>
struct PanelForm {
  static constexpr int kLow = Layout::kBits >= 8 ? 8 : Layout::kBits >= 4 ? 4 : 2, kHigh = Layout::kBits - kLow;
  static constexpr int kWords = kLow;                                       // lines of a part: 32 codes of kLow bits
  static constexpr int kPartBytes = 4 * (kWords + kHigh);                   // of a part's codes
  static constexpr int kParts = Layout::kElements / blocks::kPart;          // of a block
  static constexpr int kScaleBytes = Layout::kBytes - kParts * kPartBytes;  // of a block's scales
  static constexpr int kHalves = 2 * (1 + Layout::kMinimum);                // bytes of d and dmin
  // Where scales are whole numbers: how many eights of them.
  static constexpr int kEights = Layout::kGroups * kParts / 8 * (1 + Layout::kMinimum);
};

// Packs `columns` rows of a weight, `row_bytes` apart, each k steps in whole blocks, as a panel of `width` columns;
// what is beyond `columns` decodes to finite numbers.
void pack_block_panel(DType dtype, const std::byte* rows, int64_t row_bytes, int64_t columns, int64_t width, int64_t k,
                      std::byte* panel);

}  // namespace chiaro
