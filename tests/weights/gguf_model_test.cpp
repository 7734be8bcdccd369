// GGUF files as models: opened like any checkpoint, alone or as a part.
#include "weights/gguf_crafted.h"
#include "weights/model_source.h"

namespace chiaro {
namespace {

using testing::error_has;
using testing::TempFolder;
using testing::write_file;

std::filesystem::path golden(const std::string& name) {
  return std::string(CHIARO_SOURCE_DIR) + "/tests/golden/gguf/" + name;
}

TEST(GgufModel, OpensAsACheckpointWithItsMetadataAndWhatIsNotUsable) {
  const auto source = open_model(golden("types.gguf"));
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_EQ(source->kind, ModelKind::single_file);
  const auto component = source->component(kCheckpointComponent);
  ASSERT_TRUE(component.ok());
  const WeightMap& weights = (*component)->weights;
  const auto taken = weights.take("Q4_K", {3, 256});
  ASSERT_TRUE(taken.ok()) << taken.error().format();
  EXPECT_EQ((*taken)->desc.dtype, DType::q4_k);
  EXPECT_TRUE(error_has(weights.take("IQ2_XS", {1, 256}).error(), {"IQ2_XS", "unsupported type", "types.gguf"}));
  EXPECT_TRUE(error_has(weights.take("Q4_K", {2, 256}).error(), {"[3,256]", "[2,256]"}));
  EXPECT_EQ(weights.skipped().size(), 4u);
  EXPECT_EQ((*component)->gguf.get_text("general.architecture").value(), "test");
  EXPECT_NE(weights.report().text().find("unused tensor"), std::string::npos);
}

TEST(GgufModel, OpensAsAPartThatAFlagNames) {
  ModelFiles files;
  files.llm = golden("metadata.gguf");
  const auto source = open_model(files);
  ASSERT_TRUE(source.ok()) << source.error().format();
  const ModelComponent* part = source->part("llm");
  ASSERT_NE(part, nullptr);
  EXPECT_TRUE(part->weights.has("token_embd.weight"));
  EXPECT_EQ(part->gguf.get_texts("tokenizer.ggml.tokens").value().size(), 9u);
}

TEST(GgufModel, ADamagedFileIsRefusedWithItsName) {
  TempFolder folder;
  write_file(folder / "cut.gguf", testing::small_gguf().cut(1));
  EXPECT_TRUE(error_has(open_model(folder / "cut.gguf").error(), {"cut.gguf", "\"a\"", "15 bytes of data"}));
  write_file(folder / "v1.gguf", testing::CraftedGguf().start(0, 0, 1).bytes());
  EXPECT_EQ(open_model(folder / "v1.gguf").error().code, ErrorCode::unsupported);
}

TEST(GgufModel, AFolderOfCheckpointsNamesThem) {
  TempFolder folder;
  write_file(folder / "model-q4_k.gguf", testing::small_gguf().bytes());
  EXPECT_TRUE(error_has(open_model(folder.path()).error(), {"no model_index.json", "model-q4_k.gguf"}));
}

}  // namespace
}  // namespace chiaro
