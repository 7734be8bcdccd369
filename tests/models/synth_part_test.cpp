// Files of random weights for diffusion transformers: names, shapes and sizes of the published ones, by hand.
#include "models/synth_part.h"

#include <gtest/gtest.h>

#include <map>

#include "models/needs.h"
#include "models/qwen_image/manifest.h"
#include "models/zimage/manifest.h"
#include "weights/weight_map.h"

namespace chiaro::models {
namespace {

std::map<std::string, TensorDesc> tensors_of(SynthPart model, int64_t layers, DType type = DType::bf16) {
  const auto tensors = synth_part_tensors(model, {.layers = layers}, type);
  EXPECT_TRUE(tensors.ok()) << tensors.error().format();
  std::map<std::string, TensorDesc> by_name;
  if (!tensors.ok()) return by_name;
  for (const PlannedTensor& t : *tensors) EXPECT_TRUE(by_name.emplace(t.name, t.desc).second) << t.name;
  return by_name;
}

int64_t parameters(const std::map<std::string, TensorDesc>& tensors) {
  int64_t count = 0;
  for (const auto& [name, desc] : tensors) count += desc.count();
  return count;
}

// The file without bytes, as the readers hand it to a model.
WeightMap as_file(const std::map<std::string, TensorDesc>& tensors) {
  WeightMap map;
  for (const auto& [name, desc] : tensors) {
    auto data = std::make_shared<TensorData>();
    data->name = name;
    data->desc = desc;
    EXPECT_TRUE(map.add(std::move(data), "test").ok()) << name;
  }
  return map;
}

TEST(SynthPart, ZImageIsAsPublished) {
  const auto all = tensors_of(SynthPart::zimage, 0);
  EXPECT_EQ(all.at("layers.29.attention.qkv.weight").shape, (Shape{11520, 3840}));
  EXPECT_EQ(all.at("noise_refiner.1.adaLN_modulation.0.weight").shape, (Shape{15360, 256}));
  EXPECT_EQ(all.at("context_refiner.0.feed_forward.w2.weight").shape, (Shape{3840, 10240}));
  EXPECT_EQ(all.count("context_refiner.0.adaLN_modulation.0.weight"), 0u);
  EXPECT_EQ(all.at("cap_embedder.1.weight").shape, (Shape{3840, 2560}));
  EXPECT_EQ(all.at("x_embedder.weight").shape, (Shape{3840, 64}));
  EXPECT_EQ(all.at("t_embedder.mlp.2.weight").shape, (Shape{256, 1024}));
  EXPECT_EQ(all.at("final_layer.linear.weight").shape, (Shape{64, 3840}));
  EXPECT_NEAR(static_cast<double>(parameters(all)) * 1e-9, 6.15, 0.01);  // the authors say 6 B
  const auto two = tensors_of(SynthPart::zimage, 2);
  EXPECT_EQ(two.count("layers.1.attention.qkv.weight"), 1u);
  EXPECT_EQ(two.count("layers.2.attention.qkv.weight"), 0u);
}

TEST(SynthPart, QwenImageIsAsPublished) {
  const auto all = tensors_of(SynthPart::qwen_image, 0);
  EXPECT_EQ(all.at("transformer_blocks.59.img_mod.1.weight").shape, (Shape{18432, 3072}));
  EXPECT_EQ(all.at("transformer_blocks.0.attn.add_q_proj.weight").shape, (Shape{3072, 3072}));
  EXPECT_EQ(all.at("transformer_blocks.0.txt_mlp.net.0.proj.bias").shape, (Shape{12288}));
  EXPECT_EQ(all.at("txt_in.weight").shape, (Shape{3072, 3584}));
  EXPECT_EQ(all.at("proj_out.weight").shape, (Shape{64, 3072}));
  EXPECT_NEAR(static_cast<double>(parameters(all)) * 1e-9, 20.43, 0.01);  // the authors say 20 B
}

// What is written is what the network asks for when the file is read, all of it and nothing more.
TEST(SynthPart, TheNetworksTakeEveryTensor) {
  ZImageConfig zimage;
  zimage.layers = 1;
  const auto small = zimage_weights(as_file(tensors_of(SynthPart::zimage, 1)), zimage);
  ASSERT_TRUE(small.ok()) << small.error().format();
  const auto needs = zimage_needs(zimage);
  ASSERT_TRUE(needs.ok());
  EXPECT_EQ(count_matches(*needs, *small), static_cast<int64_t>(needs->size()));
  EXPECT_EQ(small->size(), needs->size());

  QwenImageConfig qwen;
  qwen.layers = 1;
  const auto other = qwen_image_weights(as_file(tensors_of(SynthPart::qwen_image, 1)));
  ASSERT_TRUE(other.ok()) << other.error().format();
  const auto asked = qwen_image_needs(qwen);
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(count_matches(*asked, *other), static_cast<int64_t>(asked->size()));
  EXPECT_EQ(other->size(), asked->size());
}

TEST(SynthPart, Refusals) {
  const auto why = [](const Result<std::vector<PlannedTensor>>& r) { return r.ok() ? "" : r.error().format(); };
  EXPECT_NE(why(synth_part_tensors(SynthPart::zimage, {.layers = 31}, DType::f16)).find("--layers 1 to 30"),
            std::string::npos);
  EXPECT_NE(why(synth_part_tensors(SynthPart::qwen_image, {.layers = -1}, DType::f16)).find("--layers 1 to 60"),
            std::string::npos);
  EXPECT_NE(why(synth_part_tensors(SynthPart::zimage, {.layers = 1}, DType::q4_k)).find("q4_k"), std::string::npos);
  EXPECT_EQ(synth_part_from_name("zimage"), SynthPart::zimage);
  EXPECT_EQ(synth_part_from_name("qwen-image"), SynthPart::qwen_image);
  EXPECT_EQ(synth_part_from_name("sd15"), std::nullopt);
}

}  // namespace
}  // namespace chiaro::models
