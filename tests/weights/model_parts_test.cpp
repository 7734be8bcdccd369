// Models given file by file, and sharded checkpoints given by their index.
#include "weights/crafted.h"
#include "weights/model_source.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;
using testing::entry;
using testing::error_has;
using testing::safetensors_file;
using testing::TempFolder;
using testing::write_file;
using Strings = std::vector<std::string>;

std::string weights(std::string_view tensor) {
  return safetensors_file("{" + entry(tensor, "F32", "[1]", "[0,4]") + "}", 4);
}

TEST(ModelParts, EachFlagIsAPartOfItsName) {
  const TempFolder folder;
  ModelFiles files;
  const auto file = [&](const char* name) {
    return write_file(folder / (std::string(name) + ".safetensors"), weights(name));
  };
  files.diffusion_model = file("diffusion_model");
  files.vae = file("vae");
  files.clip_l = file("clip_l");
  files.clip_g = file("clip_g");
  files.t5xxl = file("t5xxl");
  files.llm = file("llm");
  files.taesd = file("taesd");
  const auto source = open_model(files);
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_EQ(source->kind, ModelKind::parts);
  EXPECT_TRUE(source->components.empty());
  ASSERT_EQ(source->parts.size(), 7u);
  for (const auto& [name, part] : source->parts) {
    EXPECT_EQ(part.name, name);
    EXPECT_EQ(part.weights.names(), Strings{name});
    EXPECT_EQ(source->part(name), &part);
  }
  EXPECT_EQ(source->part("unet"), nullptr);
}

TEST(ModelParts, BesideACheckpoint) {
  const TempFolder folder;
  ModelFiles files;
  files.model = write_file(folder / "sd.safetensors", weights("model.diffusion_model.w"));
  files.vae = write_file(folder / "vae/config.json", R"({"size": 1})").parent_path();
  write_file(folder / "vae/diffusion_pytorch_model.safetensors", weights("decoder.w"));
  const auto source = open_model(files);
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_EQ(source->kind, ModelKind::single_file);
  EXPECT_EQ(source->components.size(), 1u);
  ASSERT_NE(source->part("vae"), nullptr);
  EXPECT_TRUE(source->part("vae")->config.has_value());
  EXPECT_TRUE(source->part("vae")->weights.has("decoder.w"));
}

TEST(ModelParts, ErrorsNameTheFlag) {
  const TempFolder folder;
  EXPECT_EQ(open_model(ModelFiles{}).error().code, ErrorCode::usage);
  ModelFiles files;
  files.vae = folder / "none.safetensors";
  EXPECT_EQ(open_model(files).error().code, ErrorCode::io);
  EXPECT_TRUE(error_has(open_model(files).error(), {"none.safetensors", "vae"}));
  files.vae.clear();
  files.clip_l = write_file(folder / "page.safetensors", "<!doctype html><html>");
  EXPECT_TRUE(error_has(open_model(files).error(), {"page.safetensors", "web page", "clip_l"}));
  files.clip_l.clear();
  files.t5xxl = folder.path();
  EXPECT_TRUE(error_has(open_model(files).error(), {"model.safetensors", "t5xxl"}));
}

// The index of a checkpoint in pieces, outside of any diffusers folder.
class ShardIndex : public ::testing::Test {
 protected:
  Result<ModelSource> open(std::string_view map) {
    return open_model(write_file(folder_ / "m.safetensors.index.json", R"({"weight_map": )" + std::string(map) + "}"));
  }
  void SetUp() override {
    write_file(folder_ / "m-1.safetensors", weights("a"));
    write_file(folder_ / "m-2.safetensors", weights("b"));
    write_file(folder_ / "m-3.safetensors", weights("a"));
  }
  TempFolder folder_;
};

TEST_F(ShardIndex, IsOneCheckpoint) {
  const auto source = open(R"({"a": "m-1.safetensors", "b": "m-2.safetensors"})");
  ASSERT_TRUE(source.ok()) << source.error().format();
  EXPECT_EQ(source->kind, ModelKind::single_file);
  const auto checkpoint = source->component(kCheckpointComponent);
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ((*checkpoint)->weights.names(), (Strings{"a", "b"}));
  EXPECT_EQ((*checkpoint)->files.size(), 2u);
}

TEST_F(ShardIndex, DisagreementsAreNamed) {
  struct Case {
    const char* map;
    std::initializer_list<std::string_view> says;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"({"a": "m-1.safetensors", "b": "m-9.safetensors"})", {"\"m-9.safetensors\"", "not there"}},
           {R"({"b": "m-1.safetensors"})", {"\"b\"", "\"m-1.safetensors\"", "lacks it"}},
           {R"({"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-2.safetensors"})",
            {"\"c\"", "\"m-2.safetensors\"", "lacks it"}},
           {R"({"a": "../m-1.safetensors"})", {"not a plain file name"}}}) {
    const auto source = open(c.map);
    ASSERT_FALSE(source.ok()) << c.map;
    EXPECT_EQ(source.error().code, ErrorCode::bad_file);
    EXPECT_TRUE(error_has(source.error(), c.says));
  }
  write_file(
      folder_ / "m-3.safetensors",
      safetensors_file("{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("c", "F32", "[1]", "[4,8]") + "}", 8));
  const auto twice = open(R"({"a": "m-1.safetensors", "c": "m-3.safetensors"})");
  ASSERT_FALSE(twice.ok());
  EXPECT_TRUE(error_has(twice.error(), {"\"a\"", "twice", "m-1.safetensors", "m-3.safetensors"}));
}

}  // namespace
}  // namespace chiaro
