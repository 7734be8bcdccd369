// Conversion of whole diffusers folders: what is converted, what is copied, and that it appears whole or not at all.
#include "weights/convert_folder.h"

#include "weights/crafted.h"
#include "weights/model_source.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;
using testing::error_has;
using testing::read_file;
using testing::TempFolder;
using testing::write_file;

constexpr std::string_view kIndex = R"({"_class_name": "StableDiffusionPipeline", "scheduler": ["diffusers", "DDIM"],
  "safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"], "tokenizer": ["transformers", "T"],
  "text_encoder": ["transformers", "CLIPTextModel"], "unet": ["diffusers", "UNet2DConditionModel"]})";

class ConvertFolder : public ::testing::Test {
 protected:
  TempFolder folder_;
  ThreadPool pool_{2};

  void SetUp() override {
    const fs::path in = folder_ / "in";
    write_file(in / "model_index.json", kIndex);
    write_file(in / "README.md", "what it is");
    write_file(in / "scheduler/scheduler_config.json", "{}");
    write_file(in / "tokenizer/vocab.json", "{}");
    write_file(in / "tokenizer/merges.txt", "a b");
    write_file(in / "safety_checker/model.safetensors", "large");
    const std::vector<float> numbers(1024, 0.25F);
    for (const char* file : {"text_encoder/model.safetensors", "unet/diffusion_pytorch_model.safetensors"}) {
      write_file((in / file).parent_path() / "config.json", R"({"a": 1})");
      ASSERT_TRUE(
          save_safetensors(in / file,
                           std::vector<TensorDataPtr>{make_tensor("w", DType::f32, {4, 256}, numbers),
                                                      make_tensor("b", DType::f32, {4}, std::span(numbers).first(4))})
              .ok());
    }
    write_file(in / "unet/diffusion_pytorch_model.fp16.safetensors", "another variant");
  }
  ConvertRequest request(const std::string& out, std::optional<DType> type) {
    ConvertRequest r;
    r.in = folder_ / "in";
    r.out = folder_ / out;
    r.type = type;
    r.pool = &pool_;
    return r;
  }
  std::vector<std::string> files(const std::string& name) const {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / name)) {
      if (entry.is_regular_file()) all.push_back(fs::relative(entry.path(), folder_ / name).generic_string());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
};

TEST_F(ConvertFolder, BlockTypesAreGgufAndTheRestSafetensors) {
  for (const auto& [out, type, extension] :
       {std::tuple{"q8", DType::q8_0, ".gguf"}, std::tuple{"half", DType::f16, ".safetensors"},
        std::tuple{"eight/", DType::f8_e4m3, ".safetensors"}}) {
    const auto report = convert_folder(request(out, type));
    ASSERT_TRUE(report.ok()) << report.error().format();
    EXPECT_EQ(report->components.size(), 2u);
    EXPECT_EQ(report->left_out, std::vector<std::string>{"safety_checker"});
    EXPECT_EQ(files(out),
              (std::vector<std::string>{"README.md", "model_index.json", "scheduler/scheduler_config.json",
                                        "text_encoder/config.json", std::string("text_encoder/model") + extension,
                                        "tokenizer/merges.txt", "tokenizer/vocab.json", "unet/config.json",
                                        std::string("unet/diffusion_pytorch_model") + extension}));
    const auto source = open_model(folder_ / out);
    ASSERT_TRUE(source.ok()) << source.error().format();
    for (const char* name : {"unet", "text_encoder"}) {
      const ModelComponent& component = *source->component(name).value();
      EXPECT_EQ(component.weights.find("w")->desc.dtype, type) << name;
      EXPECT_EQ(component.config->get_int("a").value(), 1);
    }
  }
  // Types that stay keep the kind of file.
  ConvertRequest again = request("again", std::nullopt);
  again.in = folder_ / "q8";
  ASSERT_TRUE(convert_folder(again).ok());
  EXPECT_EQ(files("again"), files("q8"));
  EXPECT_TRUE(read_file(folder_ / "again/unet/diffusion_pytorch_model.gguf") ==
              read_file(folder_ / "q8/unet/diffusion_pytorch_model.gguf"));
}

TEST_F(ConvertFolder, WholeOrNotAtAll) {
  const auto none_left = [&] {
    EXPECT_FALSE(fs::exists(folder_ / "out"));
    EXPECT_FALSE(fs::exists(folder_ / "out.unfinished"));
  };
  fs::create_directories(folder_ / "there");
  EXPECT_TRUE(error_has(convert_folder(request("there", DType::f16)).error(), {"there already"}));
  std::atomic<bool> cancel{true};
  ConvertRequest stopped = request("out", DType::f16);
  stopped.cancel = &cancel;
  EXPECT_EQ(convert_folder(stopped).error().code, ErrorCode::cancelled);
  none_left();
  write_file(folder_ / "in/unet/diffusion_pytorch_model.safetensors", "no weights");
  EXPECT_TRUE(error_has(convert_folder(request("out", DType::f16)).error(), {"unet"}));
  none_left();
  ConvertRequest file = request("out", DType::f16);
  file.in = folder_ / "in/text_encoder/model.safetensors";
  EXPECT_TRUE(error_has(convert_folder(file).error(), {"cannot become a folder"}));
}

}  // namespace
}  // namespace chiaro
