// Packing of block-quantised weights. Codes are taken eight at a time, as bytes of a 64-bit word.
#include "ops/cpu_blocks/block_panel.h"

namespace chiaro {
namespace {

using blocks::Codes;
using blocks::each;
using blocks::Scales;

// The low kBits bits of eight bytes beside each other.
template <int kBits>
uint64_t squeeze(uint64_t x) {
  constexpr int kGap = 8 - kBits;
  constexpr uint64_t kTwo = (uint64_t{1} << 2 * kBits) - 1, kFour = (uint64_t{1} << 4 * kBits) - 1;
  x &= each((1 << kBits) - 1);
  if constexpr (kGap == 0) return x;
  x = (x | x >> kGap) & kTwo * 0x0001000100010001u;
  x = (x | x >> 2 * kGap) & kFour * 0x0000000100000001u;
  return (x | x >> 4 * kGap) & (kFour << 4 * kBits | kFour);
}

// Word w of the codes' low kBits bits.
template <int kBits>
uint32_t code_word(const Codes& c, int w) {
  if constexpr (kBits == 8) return static_cast<uint32_t>(c.word[w / 2] >> w % 2 * 32);
  if constexpr (kBits == 4) return static_cast<uint32_t>(squeeze<4>(c.word[w]));
  return static_cast<uint32_t>(squeeze<2>(c.word[2 * w]) | squeeze<2>(c.word[2 * w + 1]) << 16);
}

template <class T>
void put(T value, uint8_t* line, int64_t column) {
  std::memcpy(line + column * static_cast<int64_t>(sizeof value), &value, sizeof value);
}

template <class Layout>
void pack_part(const uint8_t* block, int p, int64_t column, int64_t width, uint8_t* part) {
  using Form = PanelForm<Layout>;
  Codes c = Layout::codes(block, p);
  for (uint64_t& word : c.word) word = (word ^ each(Layout::kMiddle)) & each((1 << Layout::kBits) - 1);
  for (int w = 0; w < Form::kWords; ++w) put(code_word<Form::kLow>(c, w), part + 4 * w * width, column);
  if constexpr (Form::kHigh > 0) {
    constexpr int kSharing = Form::kLow / Form::kHigh;  // words that share a line
    uint32_t high[Form::kHigh] = {};
    for (uint64_t& word : c.word) word = word >> Form::kLow & each((1 << Form::kHigh) - 1);
    for (int w = 0; w < Form::kWords; ++w) {
      high[w / kSharing] |= code_word<Form::kLow>(c, w) << Form::kHigh * (w % kSharing);
    }
    for (int h = 0; h < Form::kHigh; ++h) put(high[h], part + 4 * (Form::kWords + h) * width, column);
  }
}

// Eight whole numbers as bytes, the eights in the order of PanelForm.
template <class Layout>
void pack_eight(uint64_t numbers, int i, int64_t column, int64_t width, uint8_t* lines) {
  if constexpr (Layout::kScaleBits == 8) {
    for (int j = 0; j < 8; ++j) put(static_cast<uint8_t>(numbers >> 8 * j), lines + (8 * i + j) * width, column);
  } else {
    put(static_cast<uint32_t>(squeeze<4>(numbers)), lines + 4 * i * width, column);
    if constexpr (Layout::kScaleBits == 6) {
      const uint64_t upper = squeeze<2>(numbers >> 4 & each(3));
      put(static_cast<uint16_t>(upper), lines + (4 * PanelForm<Layout>::kEights + 2 * i) * width, column);
    }
  }
}

template <class Layout>
void pack_scales(const uint8_t* block, int64_t column, int64_t width, uint8_t* lines) {
  using Form = PanelForm<Layout>;
  if constexpr (Layout::kScales == Scales::kFloat) {
    for (int g = 0; g < Form::kParts * Layout::kGroups; ++g) {
      put(Layout::scale_code(block, g / Layout::kGroups, g % Layout::kGroups), lines + g * width, column);
    }
  } else {
    put(Layout::d(block), lines, column);
    if constexpr (Layout::kMinimum) put(Layout::dmin(block), lines + 2 * width, column);
  }
  if constexpr (Layout::kScales == Scales::kWhole) {
    constexpr int kOfScales = Layout::kGroups * Form::kParts / 8;
    const Codes numbers = Layout::scales(block);
    for (int i = 0; i < Form::kEights; ++i) {
      const uint64_t eight = numbers.word[i < kOfScales ? i : 2 + i - kOfScales];
      pack_eight<Layout>((eight ^ each(Layout::kScaleMiddle)) & each((1 << Layout::kScaleBits) - 1), i, column, width,
                         lines + Form::kHalves * width);
    }
  }
}

template <class Layout>
void pack_panel(const uint8_t* rows, int64_t row_bytes, int64_t columns, int64_t width, int64_t k, uint8_t* panel) {
  using Form = PanelForm<Layout>;
  const int64_t count = k / Layout::kElements;
  uint8_t* scales = panel + k / blocks::kPart * Form::kPartBytes * width;
  if (columns < width) std::memset(panel, 0, static_cast<size_t>(width * count * Layout::kBytes));
  for (int64_t b = 0; b < count; ++b) {
    for (int64_t n = 0; n < columns; ++n) {
      const uint8_t* block = rows + n * row_bytes + b * Layout::kBytes;
      for (int p = 0; p < Form::kParts; ++p) {
        pack_part<Layout>(block, p, n, width, panel + (b * Form::kParts + p) * Form::kPartBytes * width);
      }
      pack_scales<Layout>(block, n, width, scales + b * Form::kScaleBytes * width);
    }
  }
}

}  // namespace

void pack_block_panel(DType dtype, const std::byte* rows, int64_t row_bytes, int64_t columns, int64_t width, int64_t k,
                      std::byte* panel) {
  blocks::with_layout(dtype, [&]<class Layout>() {
    pack_panel<Layout>(reinterpret_cast<const uint8_t*>(rows), row_bytes, columns, width, k,
                       reinterpret_cast<uint8_t*>(panel));
  });
}

}  // namespace chiaro
