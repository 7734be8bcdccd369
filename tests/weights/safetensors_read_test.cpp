// Files of the reference package are read exactly; what is not usable is listed by name; nothing is copied.
#include <cmath>

#include "core/tensor.h"
#include "weights/crafted.h"
#include "weights/safetensors.h"
#include "weights/safetensors_header.h"

namespace chiaro {
namespace {

using testing::entry;
using testing::safetensors_file;
using testing::TempFolder;
using testing::write_file;

const std::filesystem::path kGolden = std::filesystem::path(CHIARO_SOURCE_DIR) / "tests/golden/safetensors";
constexpr std::string_view kForeignName = "ünï \"quoted\" \\ \t 猫";

// Element i is (i % 7) - 3 in every tensor of the golden files.
void expect_counting(const TensorData& tensor) {
  for (int64_t i = 0; i < tensor.desc.count(); ++i) {
    ASSERT_EQ(load_element(tensor.desc.dtype, tensor.bytes, i), static_cast<double>(i % 7 - 3)) << tensor.name << i;
  }
}

std::vector<std::string> skipped_text(const SafetensorsFile& file) {
  std::vector<std::string> text;
  for (const SkippedTensor& s : file.skipped()) text.push_back(s.name + ": " + s.reason);
  return text;
}

TEST(SafetensorsRead, EveryDtypeOfTheReference) {
  const auto file = SafetensorsFile::open(kGolden / "usable.safetensors");
  ASSERT_TRUE(file.ok()) << file.error().format();
  const std::vector<std::pair<std::string, TensorDesc>> expected{
      {"B", dense(DType::f16, {3})},
      {"down.0.conv.bias", dense(DType::f16, {4})},
      {"down.0.conv.weight", dense(DType::f32, {4, 3, 3, 3})},
      {"e4", dense(DType::f8_e4m3, {2, 5})},
      {"e5", dense(DType::f8_e5m2, {9})},
      {"empty", dense(DType::f32, {0, 4})},
      {"ids", dense(DType::i32, {1, 7})},
      {"odd", dense(DType::i8, {3})},
      {"proj.weight", dense(DType::bf16, {5, 3})},
      {"rank6", dense(DType::f16, {1, 2, 1, 2, 1, 2})},
      {"scalar", dense(DType::f32, {})},
      {std::string(kForeignName), dense(DType::f32, {2})},
  };
  ASSERT_EQ(file->tensors().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const TensorData& tensor = *file->tensors()[i];
    EXPECT_EQ(tensor.name, expected[i].first);
    EXPECT_EQ(tensor.desc, expected[i].second) << tensor.name << " " << tensor.desc.text();
    expect_counting(tensor);
    EXPECT_EQ(file->find(tensor.name).get(), &tensor);
  }
  EXPECT_EQ(file->find("nothing"), nullptr);
  EXPECT_EQ(file->find(""), nullptr);
  EXPECT_TRUE(file->skipped().empty());
  EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
}

TEST(SafetensorsRead, WhatIsNotUsableIsListedExactly) {
  const auto file = SafetensorsFile::open(kGolden / "mixed.safetensors");
  ASSERT_TRUE(file.ok()) << file.error().format();
  EXPECT_EQ(file->tensors().size(), 12u);
  for (const TensorDataPtr& tensor : file->tensors()) expect_counting(*tensor);
  EXPECT_EQ(skipped_text(*file),
            (std::vector<std::string>{"z.bool: unsupported dtype BOOL", "z.byte: unsupported dtype U8",
                                      "z.double: unsupported dtype F64", "z.long: unsupported dtype I64",
                                      "z.rank7: rank 7 is above 6", "z.short: unsupported dtype I16"}));
  EXPECT_EQ(file->find("z.long"), nullptr);
  EXPECT_EQ(file->metadata().at("title"), "ü \"q\" \\ \n");
}

TEST(SafetensorsRead, UnknownDtypesStandBesideValidTensors) {
  const TempFolder folder;
  const std::string header = "{" + entry("ok", "F16", "[2]", "[3,7]") + "," +
                             entry("strange", "F6_E9", "[5]", "[0,3]") + "," + entry("bits", "F4", "[4]", "[7,9]") +
                             "," + entry("scalar", "F32", "[]", "[9,13]") + "," + entry("byte", "U8", "[]", "[13,14]") +
                             "}";
  const auto file = SafetensorsFile::open(write_file(folder / "f.safetensors", safetensors_file(header, 14)));
  ASSERT_TRUE(file.ok()) << file.error().format();
  EXPECT_EQ(skipped_text(*file), (std::vector<std::string>{"bits: unsupported dtype F4", "byte: unsupported dtype U8",
                                                           "strange: unknown dtype \"F6_E9\""}));
  ASSERT_EQ(file->tensors().size(), 2u);
  // The tensor starts at an odd byte of the data and is left there.
  const TensorDataPtr ok = file->find("ok");
  ASSERT_NE(ok, nullptr);
  EXPECT_EQ(static_cast<int>(ok->bytes[0]), 3);
  EXPECT_EQ(static_cast<int>(ok->bytes[3]), 6);
  EXPECT_EQ(file->find("scalar")->desc.shape.rank(), 0);
}

TEST(SafetensorsRead, EmptyFilesOfTheFormat) {
  const auto none = SafetensorsFile::open(kGolden / "no_tensors.safetensors");
  ASSERT_TRUE(none.ok()) << none.error().format();
  EXPECT_TRUE(none->tensors().empty());
  const std::string nulled = safetensors_file(R"({"__metadata__":null})", 0);
  EXPECT_TRUE(parse_safetensors_header(testing::as_bytes(nulled), "x").ok());
}

TEST(SafetensorsRead, TensorsKeepTheMappingAlive) {
  const TempFolder folder;
  const auto path =
      write_file(folder / "f.safetensors", safetensors_file("{" + entry("a", "I8", "[4]", "[0,4]") + "}", 4));
  TensorDataPtr tensor;
  {
    auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file.ok());
    tensor = file->find("a");
  }
  std::filesystem::remove(path);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(load_element(DType::i8, tensor->bytes, i), static_cast<double>(i));
}

TEST(SafetensorsRead, FiveThousandTensorsAndLookups) {
  const TempFolder folder;
  constexpr int kCount = 5000;
  std::string header = "{";
  for (int i = 0; i < kCount; ++i) {
    const std::string name = "blocks." + std::to_string(i * 7919 % kCount) + ".weight";
    const std::string offsets = "[" + std::to_string(4 * i) + "," + std::to_string(4 * i + 4) + "]";
    header += (i > 0 ? "," : "") + entry(name, "F32", "[1]", offsets);
  }
  const auto path = write_file(folder / "f.safetensors", safetensors_file(header + "}", 4 * kCount));
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().format();
  ASSERT_EQ(file->tensors().size(), static_cast<size_t>(kCount));
  const std::byte* first = file->find("blocks.0.weight")->bytes;
  for (int i = 0; i < kCount; ++i) {
    const TensorDataPtr t = file->find("blocks." + std::to_string(i * 7919 % kCount) + ".weight");
    ASSERT_NE(t, nullptr);
    EXPECT_EQ(t->bytes - first, 4 * i);
  }
}

TEST(SafetensorsRead, TheTinyModel) {
  const auto root = std::filesystem::path(CHIARO_SOURCE_DIR) / "models/tiny";
  for (const char* name : {"text_encoder/model.safetensors", "unet/diffusion_pytorch_model.safetensors",
                           "vae/diffusion_pytorch_model.safetensors"}) {
    const auto file = SafetensorsFile::open(root / name);
    ASSERT_TRUE(file.ok()) << file.error().format();
    EXPECT_FALSE(file->tensors().empty());
    EXPECT_TRUE(file->skipped().empty());
    for (const TensorDataPtr& t : file->tensors()) {
      EXPECT_EQ(t->desc.dtype, DType::f16) << t->name;
      for (int64_t i = 0; i < t->desc.count(); i += 97)
        ASSERT_TRUE(std::isfinite(load_element(DType::f16, t->bytes, i)));
    }
  }
}

}  // namespace
}  // namespace chiaro
