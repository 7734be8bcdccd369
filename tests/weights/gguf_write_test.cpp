// The GGUF writer: what it writes our reader and the reference package read (gguf_goldens.py --check), and nothing of a
// file that was not finished stays behind.
#include "weights/gguf.h"
#include "weights/gguf_crafted.h"

namespace chiaro {
namespace {

using testing::error_has;
using testing::formula_blocks;
using testing::formula_values;
using testing::read_file;
using testing::TempFolder;

TensorDataPtr plain(const std::string& name, const Shape& shape) {
  return make_tensor(name, DType::f32, shape, formula_values(name, static_cast<size_t>(element_count(shape))));
}

TensorDataPtr blocks(const std::string& name, DType dtype) {
  auto tensor = std::make_shared<TensorData>();
  tensor->name = name;
  tensor->desc = dense(dtype, {2, 256});
  auto bytes = std::make_shared<std::string>(formula_blocks(name, static_cast<size_t>(tensor->desc.dense_bytes())));
  tensor->bytes = reinterpret_cast<const std::byte*>(bytes->data());
  tensor->owner = std::move(bytes);
  return tensor;
}

std::vector<TensorDataPtr> tensors() {
  std::vector<TensorDataPtr> all{plain("f32", {3, 5}), plain("five", {2, 3, 1, 2, 2}), plain("scalar", {})};
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_block(dtype)) continue;
    std::string name(dtype_name(dtype));
    for (char& c : name) c = static_cast<char>(std::toupper(c));
    all.push_back(blocks(name, dtype));
  }
  return all;
}

GgufMetadata metadata() {
  const std::vector<std::string> words{"<unk>",         "\xE2\x96\x81the", "\xE7\x8C\xAB",  "",
                                       "\xC4\xA0hello", "\xC3\xA9",        "<|endoftext|>", std::string(300, 'x')};
  GgufMetadata all;
  all.add("general.architecture", std::string("test"));
  all.add("test.flag", true);
  all.add("test.number", 0.25f);
  all.add("test.words", GgufArray::of_texts(words));
  all.add("test.dims", GgufArray::of_i32(std::vector<int32_t>{1, -2, 3}));
  return all;
}

TEST(GgufWrite, TheBytesThatTheReferencePackageWasSeenToRead) {
  TempFolder folder;
  const auto saved = save_gguf(folder / "written.gguf", tensors(), metadata());
  ASSERT_TRUE(saved.ok()) << saved.error().format();
  const std::string seen = read_file(std::string(CHIARO_SOURCE_DIR) + "/tests/golden/gguf/written.gguf");
  EXPECT_TRUE(read_file(folder / "written.gguf") == seen)
      << "after a change: write the file anew, run gguf_goldens.py --check";
}

TEST(GgufWrite, OurReaderGetsBackWhatWasWritten) {
  TempFolder folder;
  ASSERT_TRUE(save_gguf(folder / "a.gguf", tensors(), metadata()).ok());
  const auto file = GgufFile::open(folder / "a.gguf");
  ASSERT_TRUE(file.ok()) << file.error().format();
  EXPECT_EQ(file->unused_bytes(), 0u);
  EXPECT_EQ(file->tensors().size(), tensors().size());
  for (const TensorDataPtr& tensor : tensors()) {
    const TensorDataPtr read = file->find(tensor->name);
    ASSERT_TRUE(read) << tensor->name;
    EXPECT_EQ(read->desc, tensor->desc) << tensor->name;
    EXPECT_EQ(std::memcmp(read->bytes, tensor->bytes, static_cast<size_t>(tensor->desc.dense_bytes())), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(read->bytes) % 32, 0u);
  }
  EXPECT_EQ(file->metadata().get_texts("test.words").value()[4], "\xC4\xA0hello");
  // Read and written again it is the same file.
  std::vector<TensorDataPtr> again;
  for (const TensorDataPtr& tensor : tensors()) again.push_back(file->find(tensor->name));
  ASSERT_TRUE(save_gguf(folder / "b.gguf", again, file->metadata()).ok());
  EXPECT_TRUE(read_file(folder / "a.gguf") == read_file(folder / "b.gguf"));
}

TEST(GgufWrite, PiecesOfAnySizeGiveTheSameFile) {
  TempFolder folder;
  ASSERT_TRUE(save_gguf(folder / "a.gguf", tensors(), metadata()).ok());
  std::vector<GgufTensorPlan> plans;
  std::string bytes;
  for (const TensorDataPtr& t : tensors()) {
    plans.push_back({t->name, t->desc.dtype, t->desc.shape});
    bytes.append(reinterpret_cast<const char*>(t->bytes), static_cast<size_t>(t->desc.dense_bytes()));
  }
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{1000}, bytes.size()}) {
    auto writer = GgufWriter::create(folder / "b.gguf", metadata(), plans);
    ASSERT_TRUE(writer.ok()) << writer.error().format();
    for (size_t at = 0; at < bytes.size(); at += piece) {
      ASSERT_TRUE(writer->append(testing::as_bytes(bytes).subspan(at, std::min(piece, bytes.size() - at))).ok());
    }
    ASSERT_TRUE(writer->commit().ok());
    EXPECT_TRUE(read_file(folder / "a.gguf") == read_file(folder / "b.gguf")) << piece;
  }
}

TEST(GgufWrite, WhatIsNotFinishedLeavesNothing) {
  TempFolder folder;
  const std::vector<GgufTensorPlan> plans{{"a", DType::f32, {4}}, {"none", DType::f32, {0}}};
  const std::string bytes(16, 'x');
  auto writer = GgufWriter::create(folder / "a.gguf", GgufMetadata(), plans);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->append(testing::as_bytes(bytes).first(15)).ok());
  EXPECT_TRUE(error_has(writer->commit().error(), {"\"a\"", "15 of 16 bytes"}));
  {
    auto dropped = GgufWriter::create(folder / "a.gguf", GgufMetadata(), plans);
    ASSERT_TRUE(dropped.ok() && dropped->append(testing::as_bytes(bytes)).ok());
    EXPECT_TRUE(error_has(dropped->append(testing::as_bytes(bytes).first(1)).error(), {"1 bytes more"}));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(GgufWrite, RefusalsNameTheTensor) {
  TempFolder folder;
  const auto refused = [&](std::vector<GgufTensorPlan> plans, GgufMetadata meta = GgufMetadata()) {
    auto writer = GgufWriter::create(folder / "a.gguf", std::move(meta), std::move(plans));
    EXPECT_FALSE(writer.ok());
    return writer.ok() ? Error{} : writer.error();
  };
  EXPECT_TRUE(error_has(refused({{"w", DType::q4_k, {2, 320}}}), {"\"w\"", "320", "blocks of 256", "q8_0"}));
  EXPECT_TRUE(error_has(refused({{"w", DType::q8_0, {}}}), {"\"w\"", "rows of 1"}));
  EXPECT_TRUE(error_has(refused({{"w", DType::f8_e4m3, {2}}}), {"\"w\"", "f8_e4m3", "does not know"}));
  EXPECT_TRUE(error_has(refused({{"w", DType::f32, {2}}, {"w", DType::f32, {2}}}), {"two tensors", "\"w\""}));
  EXPECT_TRUE(error_has(refused({{std::string(70000, 'n'), DType::f32, {2}}}), {"70000 bytes"}));
  GgufMetadata meta;
  meta.add("", true);
  EXPECT_TRUE(error_has(refused({}, meta), {"key takes 0 bytes"}));
  EXPECT_EQ(GgufWriter::create(folder / "no" / "a.gguf", GgufMetadata(), {}).error().code, ErrorCode::io);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace chiaro
