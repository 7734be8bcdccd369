// GGUF files that the reference package wrote (tools/reference/gguf_goldens.py): every key, shape, number and byte.
#include <cmath>

#include "core/block_formats.h"
#include "weights/gguf.h"
#include "weights/gguf_crafted.h"
#include "weights/gguf_header.h"

namespace chiaro {
namespace {

using testing::CraftedGguf;
using testing::error_has;
using testing::formula_blocks;
using testing::formula_values;
using testing::TempFolder;
using testing::write_file;

GgufFile open_gguf(const std::string& name) {
  auto file = GgufFile::open(std::string(CHIARO_SOURCE_DIR) + "/tests/golden/gguf/" + name);
  if (!file.ok()) {
    ADD_FAILURE() << file.error().format();
    std::abort();  // nothing here can run without its golden files
  }
  return std::move(file).value();
}

std::vector<float> values_of(const TensorData& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.desc.count()));
  decode_blocks(tensor.desc.dtype, tensor.bytes, 0, tensor.desc.count(), out.data());
  return out;
}

std::string bytes_of(const TensorData& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes), static_cast<size_t>(tensor.desc.dense_bytes())};
}

TEST(GgufRead, EveryTypeOfTensorWithItsExactBytes) {
  const GgufFile file = open_gguf("types.gguf");
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.unused_bytes(), 0u);
  ASSERT_TRUE(file.find("f32"));
  EXPECT_EQ(file.find("f32")->desc.text(), "f32[3,5]");
  EXPECT_EQ(values_of(*file.find("f32")), formula_values("f32", 15));
  ASSERT_TRUE(file.find("four"));
  EXPECT_EQ(file.find("four")->desc.text(), "f32[2,1,3,2]");
  EXPECT_EQ(file.find("one")->desc.text(), "f32[1]");
  ASSERT_TRUE(file.find("f16") && file.find("bf16"));
  EXPECT_EQ(file.find("f16")->desc.text(), "f16[2,3,4]");
  EXPECT_NEAR(values_of(*file.find("f16"))[5], formula_values("f16", 24)[5], 0x1p-11);
  EXPECT_NEAR(values_of(*file.find("bf16"))[5], formula_values("bf16", 8)[5], 0x1p-8);
  EXPECT_EQ(values_of(*file.find("int8")), (std::vector<float>{-3, -2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(values_of(*file.find("int32")), (std::vector<float>{-3, -2, -1, 0, 1, 2, 3}));
  size_t blocks = 0;
  for (const TensorDataPtr& tensor : file.tensors()) {
    if (!is_block(tensor->desc.dtype)) continue;
    ++blocks;
    EXPECT_EQ(tensor->desc.shape, (Shape{3, 256})) << tensor->name;
    EXPECT_EQ(bytes_of(*tensor), formula_blocks(tensor->name, static_cast<size_t>(tensor->desc.dense_bytes())));
    std::string lower = tensor->name;
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(lower, dtype_name(tensor->desc.dtype));
  }
  EXPECT_EQ(blocks, 14u);
}

TEST(GgufRead, TypesWithoutUseAreListedWithTheReason) {
  std::vector<std::string> skipped;
  const GgufFile file = open_gguf("types.gguf");
  for (const SkippedTensor& s : file.skipped()) skipped.push_back(s.name + ": " + s.reason);
  EXPECT_EQ(skipped, (std::vector<std::string>{"IQ2_XS: unsupported type IQ2_XS", "float64: unsupported type F64",
                                               "int16: unsupported type I16", "int64: unsupported type I64"}));
}

TEST(GgufRead, MetadataOfEveryKind) {
  const GgufFile file = open_gguf("metadata.gguf");
  const GgufMetadata& meta = file.metadata();
  const auto integer = [&](std::string_view key) { return meta.get_integer(key).value(); };
  EXPECT_EQ(meta.get_text("general.architecture").value(), "llama");
  EXPECT_EQ(integer("u8"), 255);
  EXPECT_EQ(integer("i8"), -128);
  EXPECT_EQ(integer("u16"), 65535);
  EXPECT_EQ(integer("i16"), -32768);
  EXPECT_EQ(integer("u32"), 4294967295);
  EXPECT_EQ(integer("i32"), -2147483648);
  EXPECT_EQ(integer("i64"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(std::get<uint64_t>(*meta.find("u64")), ~uint64_t{0});
  EXPECT_EQ(meta.get_number("f32").value(), double{0.1f});
  EXPECT_EQ(meta.get_number("f64").value(), 0.1);
  EXPECT_TRUE(meta.get_bool("yes").value());
  EXPECT_FALSE(meta.get_bool("no").value());
  EXPECT_EQ(meta.get_text("text").value(), std::string("Ein B\xC3\xA4r: \xF0\x9F\x90\xBB\n\0end", 19));
  EXPECT_EQ(meta.get_integers("integers").value(), (std::vector<int64_t>{1, -2, 3}));
  EXPECT_EQ(meta.get_numbers("numbers").value(), (std::vector<double>{0.5, -1.5}));
  EXPECT_EQ(meta.get_integers("flags").value(), (std::vector<int64_t>{1, 0, 1}));
}

TEST(GgufRead, TheEmbeddedTokenizer) {
  const GgufFile file = open_gguf("metadata.gguf");
  const GgufMetadata& meta = file.metadata();
  const auto tokens = meta.get_texts("tokenizer.ggml.tokens").value();
  ASSERT_EQ(tokens.size(), 9u);
  EXPECT_EQ(tokens[0], "<unk>");
  EXPECT_EQ(tokens[2], "\xE7\x8C\xAB");
  EXPECT_EQ(tokens[3], "");
  EXPECT_EQ(tokens[4], std::string_view("a\0b", 3));
  EXPECT_EQ(tokens[8], std::string(300, 'x'));
  EXPECT_EQ(meta.get_numbers("tokenizer.ggml.scores").value()[8], -8);
  EXPECT_EQ(meta.get_integers("tokenizer.ggml.token_type").value()[5], 5);
  EXPECT_EQ(meta.get_texts("tokenizer.ggml.merges").value()[2], "he ll");
  EXPECT_EQ(meta.get_integer("tokenizer.ggml.bos_token_id").value(), 7);
}

TEST(GgufRead, MetadataOfAnotherKindIsAnErrorThatNamesBoth) {
  const GgufFile file = open_gguf("metadata.gguf");
  const GgufMetadata& meta = file.metadata();
  EXPECT_TRUE(error_has(meta.get_integer("nowhere").error(), {"\"nowhere\"", "missing", "metadata.gguf"}));
  EXPECT_TRUE(error_has(meta.get_integer("text").error(), {"\"text\"", "not a whole number", "it is text"}));
  EXPECT_TRUE(error_has(meta.get_integer("u64").error(), {"18446744073709551615"}));
  EXPECT_TRUE(error_has(meta.get_integer("yes").error(), {"bool", "true"}));
  EXPECT_TRUE(error_has(meta.get_text("u8").error(), {"not a text", "u8: 255"}));
  EXPECT_TRUE(error_has(meta.get_bool("u8").error(), {"not true or false"}));
  EXPECT_TRUE(error_has(meta.get_texts("integers").error(), {"not a list of texts", "a list of 3 i32"}));
  EXPECT_TRUE(error_has(meta.get_integers("numbers").error(), {"not a list of whole numbers"}));
  EXPECT_TRUE(error_has(meta.get_numbers("tokenizer.ggml.tokens").error(), {"not a list of numbers"}));
}

TEST(GgufRead, ShapesThatAConverterChangedAreRestored) {
  const GgufFile file = open_gguf("city96.gguf");
  ASSERT_TRUE(file.find("conv.weight") && file.find("patch.weight") && file.find("attn.weight"));
  const TensorData& conv = *file.find("conv.weight");
  EXPECT_EQ(conv.desc.text(), "q4_k[64,4,3,3]");
  EXPECT_EQ(bytes_of(conv), formula_blocks("conv.weight", 9 * 144));
  EXPECT_EQ(file.find("patch.weight")->desc.text(), "f16[2,3,1,2,2]");
  EXPECT_EQ(file.find("attn.weight")->desc.text(), "q5_k[2,512]");
}

TEST(GgufRead, AlignmentAndVersionTwo) {
  for (const std::string name : {"aligned.gguf", "version2.gguf"}) {
    const GgufFile file = open_gguf(name);
    EXPECT_EQ(file.alignment(), 256u);
    EXPECT_EQ(file.version(), name == "aligned.gguf" ? 3u : 2u);
    ASSERT_TRUE(file.find("a") && file.find("b"));
    EXPECT_EQ(values_of(*file.find("a")), formula_values("a", 3));
    EXPECT_EQ(values_of(*file.find("b")), formula_values("b", 70));
    EXPECT_EQ(file.find("b")->bytes - file.find("a")->bytes, 256);
  }
}

TEST(GgufRead, FilesThatAreLegalThoughUnusual) {
  const auto accepted = [](const CraftedGguf& file) {
    const auto header = parse_gguf_header(testing::as_bytes(file.bytes()), "f");
    EXPECT_TRUE(header.ok()) << header.error().format();
    return header.ok();
  };
  EXPECT_TRUE(accepted(CraftedGguf().start(0, 0)));
  EXPECT_TRUE(accepted(testing::small_gguf()));
  EXPECT_TRUE(accepted(CraftedGguf().start(1, 0).tensor("scalar", {}, 0, 0).data(4)));
  EXPECT_TRUE(accepted(CraftedGguf().start(1, 0).tensor("none", {0, 7}, 0, 0).data(0)));
  EXPECT_TRUE(accepted(CraftedGguf().start(2, 0).tensor("b", {4}, 0, 32).tensor("a", {4}, 0, 0).data(48)));
  EXPECT_TRUE(accepted(CraftedGguf()
                           .start(1, 1)
                           .scalar("general.alignment", GgufType::u32, 1u)
                           .tensor("a", {4}, 0, 0)
                           .raw("0123456789abcdef")));
  EXPECT_TRUE(accepted(CraftedGguf()
                           .start(1, 1)
                           .scalar("general.alignment", GgufType::u32, 65536u)
                           .tensor("a", {4}, 0, 0)
                           .data(16, 65536)));
  // A type of the future does not spoil the others, and what stands behind the last tensor is counted.
  const CraftedGguf future = CraftedGguf().start(2, 0).tensor("new", {64}, 99, 0).tensor("a", {4}, 0, 128).data(144);
  ASSERT_TRUE(accepted(future));
  const CraftedGguf longer = CraftedGguf().start(1, 0).tensor("a", {4}, 0, 0).data(100);
  EXPECT_EQ(parse_gguf_header(testing::as_bytes(longer.bytes()), "f")->unused_bytes, 68u);
}

TEST(GgufRead, TensorsOutliveTheFileObject) {
  TempFolder folder;
  write_file(folder / "a.gguf", testing::small_gguf().bytes());
  TensorDataPtr tensor;
  {
    auto file = GgufFile::open(folder / "a.gguf");
    ASSERT_TRUE(file.ok()) << file.error().format();
    tensor = file->find("a");
  }
  ASSERT_TRUE(tensor);
  EXPECT_EQ(bytes_of(*tensor)[5], 5);
}

}  // namespace
}  // namespace chiaro
