// Block formats against the gguf package (decoding, to the bit) and llama.cpp's quantiser (error of encoding), and what
// must hold of any block. The golden numbers come from tools/reference/block_goldens.py, which says what they are.
#include "core/block_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/floats.h"
#include "core/sha256.h"
#include "golden_file.h"

namespace chiaro {
namespace {

using testing::open_golden;

std::vector<DType> formats() {
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (is_block(static_cast<DType>(i))) all.push_back(static_cast<DType>(i));
  }
  return all;
}

const SafetensorsFile& goldens() {
  static const SafetensorsFile file = open_golden("blocks/blocks.safetensors");
  return file;
}

TensorDataPtr golden(DType dtype, const std::string& what) {
  TensorDataPtr tensor = goldens().find(std::string(dtype_name(dtype)) + "." + what);
  EXPECT_TRUE(tensor) << dtype_name(dtype) << "." << what;
  return tensor;
}

// tests/golden/README.md, "Weights from a formula", with scale 1 and offset 0.
std::vector<float> formula(const std::string& name, size_t count) {
  uint64_t key = 0xcbf29ce484222325u;
  for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t z = key + i * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    out[i] = static_cast<float>(2.0 * (static_cast<double>(z >> 40) * 0x1p-24) - 1.0);
  }
  return out;
}

uint32_t canonical_bits(float value) {
  return std::isnan(value) ? 0x7FC00000u : bits_of(value);
}

size_t block_bytes(DType dtype) {
  return static_cast<size_t>(traits(dtype).block_bytes);
}
size_t block_elements(DType dtype) {
  return static_cast<size_t>(traits(dtype).block_elements);
}

std::vector<float> decoded(DType dtype, const std::vector<std::byte>& blocks) {
  std::vector<float> out(blocks.size() / block_bytes(dtype) * block_elements(dtype));
  decode_blocks(dtype, blocks.data(), 0, static_cast<int64_t>(out.size()), out.data());
  return out;
}

std::vector<std::byte> encoded(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> out(values.size() / block_elements(dtype) * block_bytes(dtype));
  encode_blocks(dtype, values.data(), static_cast<int64_t>(values.size()), out.data());
  return out;
}

std::vector<std::byte> formula_bytes(const std::string& name, size_t count) {
  std::vector<std::byte> out(count);
  const std::vector<float> values = formula(name, count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>((double{values[i]} + 1.0) * 128.0);
  return out;
}

TEST(BlockFormats, ThereAreFourteen) {
  EXPECT_EQ(formats().size(), 14u);
}

TEST(BlockFormats, DecodeToTheBitsOfTheReferenceAlsoAtExtremeScales) {
  for (const DType dtype : formats()) {
    SCOPED_TRACE(dtype_name(dtype));
    const TensorDataPtr bytes = golden(dtype, "bytes"), values = golden(dtype, "values");
    ASSERT_TRUE(bytes && values);
    const std::vector<std::byte> blocks(bytes->bytes, bytes->bytes + bytes->desc.count());
    const std::vector<float> got = decoded(dtype, blocks);
    ASSERT_EQ(static_cast<int64_t>(got.size()), values->desc.count());
    size_t wrong = 0, special = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      float expected = 0;
      std::memcpy(&expected, values->bytes + 4 * i, 4);
      special += !std::isfinite(expected) || (expected == 0 && std::signbit(expected)) ? 1 : 0;
      if (canonical_bits(got[i]) != canonical_bits(expected) && wrong++ < 3) {
        ADD_FAILURE() << "element " << i << " is " << got[i] << ", not " << expected;
      }
    }
    EXPECT_EQ(wrong, 0u);
    // NaN, infinity and -0 do occur, save where no scale can make them.
    EXPECT_GT(special, dtype == DType::mxfp4 || dtype == DType::nvfp4 ? 0u : 10u);
  }
}

TEST(BlockFormats, DecodeManyBlocksOfAnyBytesLikeTheReference) {
  for (const DType dtype : formats()) {
    std::string name(dtype_name(dtype));
    for (char& c : name) c = static_cast<char>(std::toupper(c));
    const std::vector<float> values = decoded(dtype, formula_bytes(name + ".many", 512 * block_bytes(dtype)));
    std::string bits;
    for (const float v : values) {
      const uint32_t b = canonical_bits(v);
      for (int i = 0; i < 4; ++i) bits += static_cast<char>(b >> (8 * i) & 0xFF);
    }
    const Sha256Digest digest = sha256(bits);
    const TensorDataPtr expected = golden(dtype, "digest");
    ASSERT_TRUE(expected);
    EXPECT_EQ(std::memcmp(digest.data(), expected->bytes, digest.size()), 0) << name;
  }
}

TEST(BlockFormats, AnyRangeIsAPartOfTheWhole) {
  for (const DType dtype : formats()) {
    const std::vector<std::byte> blocks = formula_bytes("ranges", 3 * block_bytes(dtype));
    const std::vector<float> all = decoded(dtype, blocks);
    const auto size = static_cast<int64_t>(all.size());
    for (int64_t first : {int64_t{0}, int64_t{1}, int64_t{31}, int64_t{32}, int64_t{33}, size / 2, size - 1}) {
      for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{15}, int64_t{32}, int64_t{63}, int64_t{64}, size}) {
        count = std::min(count, size - first);
        std::vector<float> part(static_cast<size_t>(count) + 1, 7.0f);
        decode_blocks(dtype, blocks.data(), first, count, part.data());
        EXPECT_EQ(part.back(), 7.0f) << dtype_name(dtype) << " writes behind its end";
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(canonical_bits(part[static_cast<size_t>(i)]), canonical_bits(all[static_cast<size_t>(first + i)]))
              << dtype_name(dtype) << " [" << first << ", +" << count << ") at " << i;
        }
      }
    }
  }
}

TEST(BlockFormats, PlainTypesAreDecodedAndRoundedToo) {
  const std::vector<float> values{1.0f, -2.5f, 0.0f, 1.0f / 3};
  std::vector<std::byte> halves(8);
  encode_blocks(DType::f16, values.data(), 4, halves.data());
  std::vector<float> back(2);
  decode_blocks(DType::f16, halves.data(), 1, 2, back.data());
  EXPECT_EQ(back, (std::vector<float>{-2.5f, 0.0f}));
}

// The inputs of block_goldens.py: `numbers(kind)`.
std::vector<float> numbers(size_t kind) {
  constexpr size_t kCount = 16384;
  std::vector<std::vector<float>> a;
  for (int i = 0; i < 4; ++i) a.push_back(formula("blocks." + std::to_string(i), kCount));
  std::vector<float> out(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const double first = a[0][i];
    double x = (first + a[1][i] + a[2][i] + a[3][i]) * 0x1p-6;
    if (kind == 1) x = first * first * first;
    if (kind == 2) x += 0x1p-5;
    if (kind == 3 && i % 97 == 0) x *= 16;
    if (kind == 4) x = std::ldexp(x, static_cast<int>(i / 256 % 7) - 3);
    out[i] = static_cast<float>(x);
  }
  return out;
}

double rmse(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

TEST(BlockFormats, EncodeWithNoMoreErrorThanLlamaCpp) {
  for (const DType dtype : formats()) {
    const TensorDataPtr reference = golden(dtype, "rmse");
    ASSERT_TRUE(reference);
    ASSERT_EQ(reference->desc.count(), 5);
    std::string line(dtype_name(dtype));
    line.resize(8, ' ');
    for (size_t kind = 0; kind < 5; ++kind) {
      const std::vector<float> x = numbers(kind);
      const double error = rmse(x, decoded(dtype, encoded(dtype, x)));
      const double theirs = load_element(DType::f32, reference->bytes, static_cast<int64_t>(kind));
      EXPECT_LE(error, 1.02 * theirs) << dtype_name(dtype) << " on input " << kind;
      EXPECT_GT(error, 0);
      char text[64];
      std::snprintf(text, sizeof text, "  %.3e (%.3f)", error, error / theirs);
      line += text;
    }
    std::printf("%s\n", line.c_str());  // RMSE, and its ratio to llama.cpp's
  }
}

TEST(BlockFormats, EncodingIsDeterministicAndTakesAnyNumbers) {
  constexpr float kMax = std::numeric_limits<float>::max(), kInf = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> patterns{{0.0f},
                                                 {-0.0f},
                                                 {1.0f},
                                                 {-1.0f},
                                                 {1e-40f, -1e-40f},
                                                 {1e-30f, 1e-8f, -1e-9f},
                                                 {kMax, -kMax},
                                                 {kInf, -kInf},
                                                 {std::nanf("")},
                                                 {1e30f, 1.0f},
                                                 {65504.0f, -65504.0f, 3.0f},
                                                 {0, 0, 0, 5.0f}};
  for (const DType dtype : formats()) {
    for (size_t p = 0; p < patterns.size(); ++p) {
      std::vector<float> x(256);
      for (size_t i = 0; i < x.size(); ++i) x[i] = patterns[p][i % patterns[p].size()];
      const std::vector<std::byte> blocks = encoded(dtype, x);
      EXPECT_EQ(blocks, encoded(dtype, x));
      for (const float v : decoded(dtype, blocks)) ASSERT_TRUE(std::isfinite(v)) << dtype_name(dtype) << " " << p;
    }
  }
}

TEST(BlockFormats, ZerosStayZerosAndOnesStayNearOne) {
  for (const DType dtype : formats()) {
    for (const float v : decoded(dtype, encoded(dtype, std::vector<float>(256, 0.0f)))) EXPECT_EQ(v, 0.0f);
    for (const float v : decoded(dtype, encoded(dtype, std::vector<float>(256, 1.0f)))) {
      EXPECT_NEAR(v, 1.0f, 0.04f) << dtype_name(dtype);
    }
    for (const float v : decoded(dtype, encoded(dtype, std::vector<float>(256, -1.0f)))) {
      EXPECT_NEAR(v, -1.0f, 0.04f) << dtype_name(dtype);
    }
  }
}

}  // namespace
}  // namespace chiaro
