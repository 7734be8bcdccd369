// The writer gives the very bytes of the reference package, whole or not at all.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/tensor.h"
#include "weights/crafted.h"
#include "weights/safetensors.h"

namespace chiaro {
namespace {

using testing::error_has;
using testing::read_file;
using testing::TempFolder;

const std::filesystem::path kGolden = std::filesystem::path(CHIARO_SOURCE_DIR) / "tests/golden/safetensors";

TensorDataPtr counting(std::string name, DType dtype, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3.0f;
  return make_tensor(std::move(name), dtype, shape, values);
}

TEST(SafetensorsWrite, SameBytesAsTheReference) {
  const TempFolder folder;
  // In no particular order: the writer sorts.
  std::vector<TensorDataPtr> tensors{
      counting("odd", DType::i8, {3}),
      counting("ünï \"quoted\" \\ \t 猫", DType::f32, {2}),
      counting("e5", DType::f8_e5m2, {9}),
      counting("empty", DType::f32, {0, 4}),
      counting("down.0.conv.bias", DType::f16, {4}),
      counting("rank6", DType::f16, {1, 2, 1, 2, 1, 2}),
      counting("B", DType::f16, {3}),
      counting("ids", DType::i32, {1, 7}),
      counting("proj.weight", DType::bf16, {5, 3}),
      counting("down.0.conv.weight", DType::f32, {4, 3, 3, 3}),
      counting("e4", DType::f8_e4m3, {2, 5}),
      counting("scalar", DType::f32, {}),
  };
  const auto path = folder / "out.safetensors";
  ASSERT_TRUE(save_safetensors(path, tensors, {{"format", "pt"}}).ok());
  EXPECT_EQ(read_file(path), read_file(kGolden / "usable.safetensors"));
  std::reverse(tensors.begin(), tensors.end());
  ASSERT_TRUE(save_safetensors(path, tensors, {{"format", "pt"}}).ok());
  EXPECT_EQ(read_file(path), read_file(kGolden / "usable.safetensors"));
}

TEST(SafetensorsWrite, RoundTripOfEveryGoldenFile) {
  const TempFolder folder;
  for (const char* name : {"usable.safetensors", "no_tensors.safetensors"}) {
    const auto file = SafetensorsFile::open(kGolden / name);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(save_safetensors(folder / name, file->tensors(), file->metadata()).ok());
    EXPECT_EQ(read_file(folder / name), read_file(kGolden / name)) << name;
  }
}

TEST(SafetensorsWrite, MayReplaceTheFileItReadsFrom) {
  const TempFolder folder;
  const auto path = folder / "f.safetensors";
  std::filesystem::copy_file(kGolden / "usable.safetensors", path);
  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(save_safetensors(path, file->tensors(), {{"a", "1"}, {"b", "\x01 ü"}}).ok());
  const auto again = SafetensorsFile::open(path);
  ASSERT_TRUE(again.ok()) << again.error().format();
  EXPECT_EQ(again->metadata().at("b"), "\x01 ü");
  ASSERT_EQ(again->tensors().size(), file->tensors().size());
  for (const TensorDataPtr& t : file->tensors()) {
    const TensorDataPtr other = again->find(t->name);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->desc, t->desc);
    if (t->desc.count() > 0) {
      EXPECT_EQ(std::memcmp(other->bytes, t->bytes, static_cast<size_t>(t->desc.dense_bytes())), 0) << t->name;
    }
  }
}

TEST(SafetensorsWrite, Refusals) {
  const TempFolder folder;
  const auto path = folder / "out.safetensors";
  const auto refused = [&](std::vector<TensorDataPtr> tensors, std::map<std::string, std::string> metadata,
                           ErrorCode code, std::string_view part) {
    const Status status = save_safetensors(path, tensors, metadata);
    ASSERT_FALSE(status.ok()) << part;
    EXPECT_EQ(status.error().code, code) << status.error().format();
    EXPECT_TRUE(error_has(status.error(), {"out.safetensors", part}));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  };
  const TensorDataPtr a = counting("a", DType::f32, {2});
  refused({a, counting("a", DType::f16, {2})}, {}, ErrorCode::usage, "\"a\"");
  refused({counting("__metadata__", DType::f32, {2})}, {}, ErrorCode::usage, "__metadata__");
  refused({counting("\xFF", DType::f32, {2})}, {}, ErrorCode::usage, "UTF-8");
  refused({a}, {{"k", "\xC0\x80"}}, ErrorCode::usage, "UTF-8");
  auto block = std::make_shared<TensorData>(*a);
  block->desc = dense(DType::q8_0, {32});
  refused({block}, {}, ErrorCode::dtype, "q8_0");
}

TEST(SafetensorsWrite, FullDisk) {
  const std::array<TensorDataPtr, 1> tensors{counting("a", DType::f32, {2})};
  const Status status = save_safetensors("/dev/full", tensors);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::io);
  const TempFolder folder;
  EXPECT_EQ(save_safetensors(folder / "missing/f.safetensors", tensors).error().code, ErrorCode::io);
}

}  // namespace
}  // namespace chiaro
