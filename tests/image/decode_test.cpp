// Pictures from files: every colour type, and every way to be broken.
#include <gtest/gtest.h>

#include <jpeglib.h>
#include <webp/encode.h>

#include <cmath>
#include <fstream>

#include "crafted_png.h"
#include "pipeline/image/image_io.h"

namespace chiaro {
namespace {

using namespace testing;
using Rgb = std::vector<uint8_t>;

Image decoded(const std::string& file) {
  auto image = decode_image(bytes_of(file), "crafted.png");
  EXPECT_TRUE(image.ok()) << (image.ok() ? "" : image.error().format());
  return image.ok() ? std::move(image).value() : Image{};
}

Error refused(const std::string& file) {
  auto image = decode_image(bytes_of(file), "crafted");
  EXPECT_FALSE(image.ok());
  return image.ok() ? Error{} : image.error();
}

// A smooth 48x40 picture, so that lossy formats keep its values.
Image smooth() {
  Image image{48, 40, {}};
  for (int y = 0; y < 40; ++y) {
    for (int x = 0; x < 48; ++x) {
      for (const int v : {x * 5, y * 6, 255 - x * 2 - y * 2}) image.rgb.push_back(static_cast<uint8_t>(v));
    }
  }
  return image;
}

std::string jpeg_of(const Image& image) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &out, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(image.rgb.data()) + size_t{info.next_scanline} * info.image_width * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<char*>(out), size);
  std::free(out);
  return file;
}

std::string webp_of(const Image& image, bool lossless) {
  uint8_t* out = nullptr;
  const size_t size = lossless
                          ? WebPEncodeLosslessRGB(image.rgb.data(), image.width, image.height, image.width * 3, &out)
                          : WebPEncodeRGB(image.rgb.data(), image.width, image.height, image.width * 3, 95, &out);
  std::string file(reinterpret_cast<char*>(out), size);
  WebPFree(out);
  return file;
}

int largest_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.rgb.size(), b.rgb.size());
  int largest = 0;
  for (size_t i = 0; i < std::min(a.rgb.size(), b.rgb.size()); ++i) {
    largest = std::max(largest, std::abs(int{a.rgb[i]} - int{b.rgb[i]}));
  }
  return largest;
}

TEST(DecodePng, GrayBecomesThreeEqualChannels) {
  EXPECT_EQ(decoded(png({.colour = 0, .rows = raw({0, 77})})).rgb, (Rgb{77, 77, 77}));
}

TEST(DecodePng, OneBitGray) {
  const Image image = decoded(png({.width = 3, .depth = 1, .colour = 0, .rows = raw({0, 0b10100000})}));
  EXPECT_EQ(image.rgb, (Rgb{255, 255, 255, 0, 0, 0, 255, 255, 255}));
}

TEST(DecodePng, TransparencyIsPutOnWhite) {
  EXPECT_EQ(decoded(png({.colour = 4, .rows = raw({0, 100, 0})})).rgb, (Rgb{255, 255, 255}));
  EXPECT_EQ(decoded(png({.colour = 4, .rows = raw({0, 100, 255})})).rgb, (Rgb{100, 100, 100}));
  // 255 - alpha * (255 - value) / 255, rounded: alpha 51 is a fifth.
  EXPECT_EQ(decoded(png({.colour = 6, .rows = raw({0, 255, 155, 0, 51})})).rgb, (Rgb{255, 235, 204}));
}

TEST(DecodePng, PaletteWithAndWithoutTransparency) {
  const std::string palette = chunk("PLTE", raw({1, 2, 3, 250, 251, 252}));
  EXPECT_EQ(decoded(png({.width = 2, .colour = 3, .between = palette, .rows = raw({0, 1, 0})})).rgb,
            (Rgb{250, 251, 252, 1, 2, 3}));
  const std::string clear = palette + chunk("tRNS", raw({0}));
  EXPECT_EQ(decoded(png({.width = 2, .colour = 3, .between = clear, .rows = raw({0, 1, 0})})).rgb,
            (Rgb{250, 251, 252, 255, 255, 255}));
}

// The simplified interface of libpng takes 16 bits for linear light unless told otherwise: 0x8080 would become 188.
TEST(DecodePng, SixteenBitsKeepTheirMeaning) {
  const Image image = decoded(png({.depth = 16, .rows = raw({0, 0x80, 0x80, 0xFF, 0xFF, 0x10, 0x10})}));
  EXPECT_EQ(image.rgb, (Rgb{0x80, 0xFF, 0x10}));
}

TEST(DecodePng, HeaderBombIsRefusedByItsHeader) {
  const std::string bomb = png({.width = 64250, .height = 64250, .rows = raw({0, 1, 2, 3})});
  ASSERT_LT(bomb.size(), 120u);
  const Error error = refused(bomb);
  EXPECT_EQ(error.code, ErrorCode::bad_file);
  EXPECT_NE(error.why.find("64250 x 64250"), std::string::npos) << error.format();
}

TEST(DecodePng, SmallerBombIsRefusedByItsSize) {
  const Error error = refused(png({.width = 11000, .height = 11000, .rows = raw({0, 1, 2, 3})}));
  EXPECT_EQ(error.code, ErrorCode::bad_file);
  EXPECT_NE(error.what.find("cannot hold"), std::string::npos) << error.format();
}

TEST(DecodePng, AnEmptySideIsRefused) {
  EXPECT_EQ(refused(png({.width = 0, .height = 5, .rows = ""})).code, ErrorCode::bad_file);
}

TEST(DecodePng, AWrongChecksumIsRefused) {
  std::string file = png({.rows = raw({0, 1, 2, 3})});
  file[29] = static_cast<char>(file[29] ^ 1);  // in IHDR's checksum
  EXPECT_EQ(refused(file).code, ErrorCode::bad_file);
}

class Truncated : public ::testing::TestWithParam<const char*> {};

TEST_P(Truncated, IsRefusedAtEveryLength) {
  const std::string format = GetParam();
  std::string file;
  if (format == "png") {
    const Image image = smooth();
    const auto encoded = encode_png(image.width, image.height, image.rgb, {{"parameters", "a cat"}});
    ASSERT_TRUE(encoded.ok());
    file.assign(reinterpret_cast<const char*>(encoded->data()), encoded->size() - 12);  // IEND may be missing
  } else if (format == "jpeg") {
    file = jpeg_of(smooth());
    file.resize(file.size() - 2);  // the end marker may be missing
  } else {
    file = webp_of(smooth(), format == "webp lossless");
  }
  for (size_t length = 0; length < file.size(); length += 1 + length / 16) {
    const auto image = decode_image(bytes_of(std::string_view(file).substr(0, length)), "cut.bin");
    ASSERT_FALSE(image.ok()) << format << " cut to " << length << " of " << file.size();
    EXPECT_EQ(image.error().code, ErrorCode::bad_file);
    EXPECT_NE(image.error().format().find("cut.bin"), std::string::npos);
  }
}
INSTANTIATE_TEST_SUITE_P(Formats, Truncated, ::testing::Values("png", "jpeg", "webp", "webp lossless"));

TEST(DecodeJpeg, GivesBackASmoothPicture) {
  EXPECT_LE(largest_difference(decoded(jpeg_of(smooth())), smooth()), 12);
}

TEST(DecodeWebp, GivesBackASmoothPicture) {
  EXPECT_EQ(largest_difference(decoded(webp_of(smooth(), true)), smooth()), 0);
  EXPECT_LE(largest_difference(decoded(webp_of(smooth(), false)), smooth()), 12);
}

TEST(DecodeImage, NamesWhatIsNoPicture) {
  EXPECT_NE(refused("").why.find("empty"), std::string::npos);
  EXPECT_EQ(refused("GIF89a..............").code, ErrorCode::bad_file);
  const auto missing = load_image(std::filesystem::path(CHIARO_TMP_DIR) / "no such picture.png");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace chiaro
