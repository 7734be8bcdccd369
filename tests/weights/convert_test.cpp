// Conversion of weights: types chosen, bytes written, and nothing left behind where it fails.
#include "weights/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/block_formats.h"
#include "weights/crafted.h"
#include "weights/gguf.h"
#include "weights/limited_memory.h"

namespace chiaro {
namespace {

using testing::error_has;
using testing::expect_within;
using testing::Limited;
using testing::memory_can_be_limited;
using testing::read_file;
using testing::TempFolder;
using testing::write_file;
namespace fs = std::filesystem;

// Values of a mild spread, other ones for every name.
std::vector<float> values(const std::string& name, int64_t count) {
  std::vector<float> out(static_cast<size_t>(count));
  uint32_t state = static_cast<uint32_t>(name.size()) * 2654435761u + 1;
  for (float& v : out) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(static_cast<int32_t>(state >> 8) - (1 << 23)) / static_cast<float>(1 << 26);
  }
  return out;
}

TensorDataPtr tensor(const std::string& name, const Shape& shape, DType dtype = DType::f32) {
  return make_tensor(name, dtype, shape, values(name, element_count(shape)));
}

class Convert : public ::testing::Test {
 protected:
  TempFolder folder_;
  ThreadPool pool_{3};

  ConvertRequest request(const std::vector<TensorDataPtr>& tensors, const std::string& out, std::optional<DType> type) {
    EXPECT_TRUE(save_safetensors(folder_ / "in.safetensors", tensors, {{"modelspec.title", "toy"}}).ok());
    ConvertRequest r;
    r.in = folder_ / "in.safetensors";
    r.out = folder_ / out;
    r.type = type;
    r.pool = &pool_;
    return r;
  }
  ConvertReport run(const ConvertRequest& r) {
    auto report = convert_model(r);
    EXPECT_TRUE(report.ok()) << report.error().format();
    return report.ok() ? std::move(report).value() : ConvertReport{};
  }
  static const ConvertedTensor& of(const ConvertReport& report, const std::string& name) {
    for (const ConvertedTensor& t : report.tensors) {
      if (t.name == name) return t;
    }
    ADD_FAILURE() << "no tensor " << name;
    return report.tensors.front();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
};

// Case 11: rows that 256 does not divide, and a rule that asks for it all the same.
TEST_F(Convert, RowsThatBlocksDoNotDivideGetALegalType) {
  ConvertRequest r = request({tensor("a", {4, 896}), tensor("b", {4, 320}), tensor("c", {4, 9}), tensor("d", {4, 512})},
                             "out.gguf", DType::f16);
  r.rules = {{"^[a-d]$", DType::q4_k}};
  const ConvertReport report = run(r);
  EXPECT_EQ(of(report, "a").to, DType::q8_0);
  EXPECT_EQ(of(report, "b").to, DType::q8_0);
  EXPECT_EQ(of(report, "c").to, DType::f16);
  EXPECT_EQ(of(report, "d").to, DType::q4_k);
  EXPECT_EQ(of(report, "a").reason, ConvertReason::rows);
  EXPECT_EQ(of(report, "c").reason, ConvertReason::rows);
  EXPECT_EQ(of(report, "d").reason, ConvertReason::rule);
  const auto file = GgufFile::open(r.out);
  ASSERT_TRUE(file.ok()) << file.error().format();
  EXPECT_EQ(file->find("b")->desc, dense(DType::q8_0, {4, 320}));
  EXPECT_EQ(file->find("c")->desc, dense(DType::f16, {4, 9}));
  EXPECT_EQ(file->unused_bytes(), 0u);
  EXPECT_EQ(files(), (std::vector<std::string>{"in.safetensors", "out.gguf"}));
}

TEST_F(Convert, EveryBlockTypeIsWhatTheEncoderGives) {
  const std::string name = "layer.weight";
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (!is_block(type)) continue;
    ConvertRequest r = request({tensor(name, {300, 512})}, "out.gguf", type);  // more than two chunks
    r.report_error = true;
    const ConvertReport report = run(r);
    ASSERT_EQ(of(report, name).to, type);
    const auto file = GgufFile::open(r.out);
    ASSERT_TRUE(file.ok()) << file.error().format();
    const std::vector<float> in = values(name, 300 * 512);
    std::vector<std::byte> expected(static_cast<size_t>(dense(type, {300, 512}).dense_bytes()));
    encode_blocks(type, in.data(), 300 * 512, expected.data());
    EXPECT_EQ(std::memcmp(file->find(name)->bytes, expected.data(), expected.size()), 0) << dtype_name(type);
    std::vector<float> back(in.size());
    decode_blocks(type, expected.data(), 0, 300 * 512, back.data());
    double error = 0;
    for (size_t k = 0; k < in.size(); ++k) error += std::pow(double{back[k]} - double{in[k]}, 2);
    EXPECT_NEAR(of(report, name).rmse, std::sqrt(error / static_cast<double>(in.size())), 1e-12);
    EXPECT_NEAR(of(report, name).rms, 0.125 / std::sqrt(3.0), 1e-3);  // even in [-1/8, 1/8)
  }
}

// The file is streamed: 64 MB of weights with 24 MB of memory, less than one of its tensors, whatever is read or
// written.
TEST(ConvertMemory, DoesNotGrowWithTheFile) {
  if (!memory_can_be_limited()) GTEST_SKIP() << "memory cannot be limited here";
  const TempFolder folder;
  ConvertRequest r;
  r.in = folder / "in.safetensors";
  const std::vector<TensorDataPtr> all{tensor("a.weight", {4096, 2048}), tensor("b.weight", {4096, 2048})};
  ASSERT_TRUE(save_safetensors(r.in, all).ok());
  r.type = DType::q8_0;
  for (const char* out : {"out.gguf", "out.safetensors"}) {
    r.out = folder / out;
    expect_within(Limited::private_memory, size_t{24} << 20, 600, [&r] {
      ThreadPool one(1);
      r.pool = &one;
      return convert_model(r).ok();
    });
    ASSERT_TRUE(fs::exists(r.out));
    EXPECT_GT(fs::file_size(r.out), size_t{16} << 20);
    r.in = r.out;
    r.type = DType::f16;
  }
}

TEST_F(Convert, NormsBiasesAndEmbeddingsStayAsTheyAre) {
  const std::vector<TensorDataPtr> all{tensor("norm.weight", {256}, DType::f32),
                                       tensor("attn.to_q.bias", {256}, DType::bf16),
                                       tensor("attn.to_q.weight", {256, 256}, DType::f16),
                                       tensor("text_model.embeddings.token_embedding.weight", {40, 256}, DType::f16),
                                       tensor("time_embed.0.weight", {256, 256}, DType::f32),
                                       tensor("conv.weight", {8, 8, 3, 3}, DType::f16)};
  const ConvertReport q = run(request(all, "out.gguf", DType::q8_0));
  EXPECT_EQ(of(q, "norm.weight").to, DType::f32);
  EXPECT_EQ(of(q, "attn.to_q.bias").to, DType::bf16);
  EXPECT_EQ(of(q, "attn.to_q.weight").to, DType::q8_0);
  EXPECT_EQ(of(q, "text_model.embeddings.token_embedding.weight").to, DType::f16);
  EXPECT_EQ(of(q, "time_embed.0.weight").to, DType::f32);
  EXPECT_EQ(of(q, "time_embed.0.weight").reason, ConvertReason::small);
  EXPECT_EQ(of(q, "conv.weight").to, DType::f16);
  const ConvertReport f16 = run(request(all, "out.safetensors", DType::f16));
  EXPECT_EQ(of(f16, "norm.weight").to, DType::f32);
  EXPECT_EQ(of(f16, "time_embed.0.weight").to, DType::f16);
  const ConvertReport f32 = run(request(all, "out.safetensors", DType::f32));
  for (const ConvertedTensor& t : f32.tensors) EXPECT_EQ(t.to, DType::f32) << t.name;
  // A rule reaches every one of them.
  ConvertRequest r = request(all, "out.gguf", DType::q8_0);
  r.rules = {{"embedding", DType::q4_k}, {"norm", DType::f16}};
  const ConvertReport ruled = run(r);
  EXPECT_EQ(of(ruled, "text_model.embeddings.token_embedding.weight").to, DType::q4_k);
  EXPECT_EQ(of(ruled, "norm.weight").to, DType::f16);
}

TEST_F(Convert, SameBytesForAnyNumberOfThreadsAndFromAnySource) {
  const std::vector<TensorDataPtr> all{tensor("w", {700, 256}), tensor("five", {2, 2, 2, 2, 32}), tensor("b", {7})};
  ConvertRequest r = request(all, "a.gguf", DType::q4_0);
  r.report_error = true;
  const ConvertReport first = run(r);
  ThreadPool one(1);
  r.pool = &one;
  r.out = folder_ / "b.gguf";
  const ConvertReport second = run(r);
  EXPECT_TRUE(read_file(folder_ / "a.gguf") == read_file(folder_ / "b.gguf"));
  EXPECT_EQ(of(first, "w").rmse, of(second, "w").rmse);
  // Without a type, types stay: the way through GGUF gives the file back.
  r.type.reset();
  r.out = folder_ / "same.gguf";
  run(r);
  r.in = r.out;
  r.out = folder_ / "again.safetensors";
  EXPECT_TRUE(run(r).metadata_lost.empty());
  const auto again = SafetensorsFile::open(r.out);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->metadata().at("modelspec.title"), "toy");
  for (const TensorDataPtr& t : all) {
    ASSERT_TRUE(again->find(t->name));
    EXPECT_EQ(again->find(t->name)->desc, t->desc);
    EXPECT_EQ(std::memcmp(again->find(t->name)->bytes, t->bytes, static_cast<size_t>(t->desc.dense_bytes())), 0);
  }
}

TEST_F(Convert, MetadataOfGguf) {
  ConvertRequest r = request({tensor("w", {4, 256})}, "a.gguf", DType::q4_k);
  r.architecture = "sd1";
  run(r);
  auto file = GgufFile::open(r.out);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->metadata().get_text("general.architecture").value(), "sd1");
  EXPECT_EQ(file->metadata().get_integer("general.file_type").value(), 14);
  EXPECT_EQ(file->metadata().get_integer("general.quantization_version").value(), 2);
  // What the source says of itself stays; how it is laid out does not.
  r.in = r.out;
  r.out = folder_ / "b.gguf";
  r.type = DType::q8_0;
  r.architecture = "other";
  run(r);
  file = GgufFile::open(r.out);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->metadata().get_text("general.architecture").value(), "sd1");
  EXPECT_EQ(file->metadata().get_integer("general.file_type").value(), 7);
}

TEST_F(Convert, ScalesOfFp8AreMultipliedIn) {
  std::vector<float> codes(2 * 32);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<float>(i % 8);
  const std::vector<float> rows{0.5f, 2.0f}, one{0.25f};
  const std::vector<TensorDataPtr> all{make_tensor("x.weight", DType::f8_e4m3, {2, 32}, codes),
                                       make_tensor("x.weight_scale", DType::f32, {2, 1}, rows),
                                       make_tensor("y.weight", DType::f8_e5m2, {2, 32}, codes),
                                       make_tensor("y.scale_weight", DType::f32, {}, one),
                                       make_tensor("z.weight", DType::i8, {2, 32}, codes),
                                       make_tensor("z.weight_scale", DType::f32, {1}, one),
                                       make_tensor("ids", DType::i32, {2}, rows),
                                       make_tensor("scaled_fp8", DType::f8_e4m3, {0}, {})};
  const ConvertReport report = run(request(all, "out.gguf", DType::f16));
  EXPECT_EQ(report.scales, (std::vector<std::string>{"x.weight_scale", "y.scale_weight", "z.weight_scale"}));
  EXPECT_EQ(report.tensors.size(), 4u);
  EXPECT_EQ(of(report, "ids").to, DType::i32);
  const auto file = GgufFile::open(folder_ / "out.gguf");
  ASSERT_TRUE(file.ok());
  for (int64_t i = 0; i < 64; ++i) {
    const double code = codes[static_cast<size_t>(i)];
    EXPECT_EQ(load_element(DType::f16, file->find("x.weight")->bytes, i), code * (i < 32 ? 0.5 : 2.0)) << i;
    EXPECT_EQ(load_element(DType::f16, file->find("y.weight")->bytes, i), code * 0.25) << i;
    EXPECT_EQ(load_element(DType::f16, file->find("z.weight")->bytes, i), code * 0.25) << i;
  }
  // Where the type stays, weight and scale do.
  const ConvertReport kept = run(request(all, "out.safetensors", std::nullopt));
  EXPECT_TRUE(kept.scales.empty());
  EXPECT_EQ(kept.tensors.size(), all.size());
  // A scale that fits nothing is an error, not a guess.
  const std::vector<TensorDataPtr> odd{all[0], make_tensor("x.weight_scale", DType::f32, {3}, {{1, 1, 1}})};
  EXPECT_TRUE(
      error_has(convert_model(request(odd, "odd.gguf", DType::f16)).error(), {"x.weight_scale", "not understood"}));
}

TEST_F(Convert, NumbersOutOfRangeAreClampedAndCounted) {
  std::vector<float> in(64, 1.0f);
  in[3] = 1e6f;
  in[4] = -1e6f;
  in[5] = std::nanf("");
  in[6] = INFINITY;
  const ConvertReport report = run(request({make_tensor("w", DType::f32, {2, 32}, in)}, "out.safetensors", DType::f16));
  EXPECT_EQ(of(report, "w").clamped, 2);
  EXPECT_EQ(of(report, "w").non_finite, 2);
  const auto file = SafetensorsFile::open(folder_ / "out.safetensors");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(load_element(DType::f16, file->find("w")->bytes, 3), 65504.0);
  EXPECT_EQ(load_element(DType::f16, file->find("w")->bytes, 4), -65504.0);
  EXPECT_TRUE(std::isnan(load_element(DType::f16, file->find("w")->bytes, 5)));
  const ConvertReport fp8 =
      run(request({make_tensor("w", DType::f32, {2, 32}, in)}, "out.safetensors", DType::f8_e4m3));
  EXPECT_EQ(of(fp8, "w").to, DType::f8_e4m3);
  const auto second = SafetensorsFile::open(folder_ / "out.safetensors");
  EXPECT_EQ(load_element(DType::f8_e4m3, second->find("w")->bytes, 3), 448.0);
}

TEST_F(Convert, ReadsPyTorchAndFoldersAndIndexes) {
  ConvertRequest r = request({tensor("w", {4, 32})}, "out.gguf", DType::f32);
  r.in = std::string(CHIARO_SOURCE_DIR) + "/tests/golden/torch/nested.zip.pt";
  const ConvertReport torch = run(r);
  EXPECT_EQ(torch.tensors.size(), 2u);
  EXPECT_EQ(torch.others.size(), 7u);
  EXPECT_EQ(GgufFile::open(r.out)->metadata().get_text("safetensors.global_step").value(), "470000");
  fs::create_directory(folder_ / "unet");
  fs::rename(folder_ / "in.safetensors", folder_ / "unet/diffusion_pytorch_model.safetensors");
  r.in = folder_ / "unet";
  EXPECT_EQ(run(r).tensors.size(), 1u);
  write_file(folder_ / "unet/diffusion_pytorch_model.safetensors.index.json",
             R"({"weight_map":{"w":"diffusion_pytorch_model.safetensors"}})");
  r.in = folder_ / "unet/diffusion_pytorch_model.safetensors.index.json";
  EXPECT_EQ(run(r).tensors.size(), 1u);
  write_file(folder_ / "model_index.json", "{}");
  r.in = folder_.path();
  EXPECT_TRUE(error_has(convert_model(r).error(), {"whole model", "unet"}));
  r.in = write_file(folder_ / "page", "<html>");
  EXPECT_TRUE(error_has(convert_model(r).error(), {"web page"}));
}

TEST_F(Convert, RowsOfConvolutionsMayBeJoined) {
  const std::vector<TensorDataPtr> all{
      tensor("conv.weight", {32, 16, 3, 3}),    tensor("odd.weight", {5, 3, 3, 3}),
      tensor("linear.weight", {8, 9}),          tensor("wide.weight", {4, 4, 1, 256}),
      tensor("video.weight", {2, 16, 8, 3, 3}), tensor("point.weight", {32, 16, 1, 1})};
  ConvertRequest r = request(all, "out.gguf", DType::q4_k);
  r.join_rows = true;
  const ConvertReport report = run(r);
  EXPECT_EQ(of(report, "conv.weight").reason, ConvertReason::joined);
  EXPECT_EQ(of(report, "odd.weight").to, DType::f16);
  EXPECT_EQ(of(report, "linear.weight").to, DType::f16);
  EXPECT_EQ(of(report, "wide.weight").reason, ConvertReason::asked);
  EXPECT_EQ(of(report, "video.weight").reason, ConvertReason::joined);
  EXPECT_EQ(of(report, "point.weight").to, DType::f16) << "it may be computed as a product, which needs whole rows";
  auto file = GgufFile::open(r.out);
  ASSERT_TRUE(file.ok()) << file.error().format();
  EXPECT_EQ(file->find("conv.weight")->desc, dense(DType::q4_k, {32, 16, 3, 3}));
  EXPECT_EQ(file->find("video.weight")->desc, dense(DType::q4_k, {2, 16, 8, 3, 3}));
  EXPECT_EQ(file->metadata().get_integers("comfy.gguf.orig_shape.conv.weight").value(),
            (std::vector<int64_t>{32, 16, 3, 3}));
  const std::vector<float> in = values("conv.weight", 32 * 16 * 9);
  std::vector<std::byte> expected(static_cast<size_t>(dense(DType::q4_k, {32, 16, 3, 3}).dense_bytes()));
  encode_blocks(DType::q4_k, in.data(), 32 * 16 * 9, expected.data());
  EXPECT_EQ(std::memcmp(file->find("conv.weight")->bytes, expected.data(), expected.size()), 0);
  // Again, without a type: the same blocks. Without joining: plain rows.
  r.in = r.out;
  r.type.reset();
  r.out = folder_ / "again.gguf";
  run(r);
  file = GgufFile::open(r.out);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(std::memcmp(file->find("conv.weight")->bytes, expected.data(), expected.size()), 0);
  r.join_rows = false;
  EXPECT_EQ(of(run(r), "conv.weight").to, DType::f16);
  r.join_rows = true;
  r.out = folder_ / "out.safetensors";
  EXPECT_TRUE(error_has(convert_model(r).error(), {"GGUF file only"}));
}

TEST_F(Convert, RefusesWhatTheFileCannotHold) {
  const std::vector<TensorDataPtr> all{tensor("w", {4, 256})};
  EXPECT_TRUE(error_has(convert_model(request(all, "o.safetensors", DType::q4_k)).error(), {"q4_k", ".gguf"}));
  EXPECT_TRUE(error_has(convert_model(request(all, "o.gguf", DType::f8_e4m3)).error(), {"f8_e4m3", "q8_0"}));
  EXPECT_TRUE(error_has(convert_model(request(all, "o.gguf", DType::i8)).error(), {"i8", "integers"}));
  EXPECT_TRUE(error_has(convert_model(request(all, "o.bin", DType::f16)).error(), {"o.bin", "neither"}));
  ConvertRequest r = request(all, "o.safetensors", DType::f16);
  r.rules = {{"w", DType::q8_0}};
  EXPECT_EQ(convert_model(r).error().code, ErrorCode::usage);
  r.rules = {{"(", DType::f32}};
  EXPECT_TRUE(error_has(convert_model(r).error(), {"regular expression"}));
  r.rules = {};
  r.out = folder_ / "no/such/o.gguf";
  EXPECT_EQ(convert_model(r).error().code, ErrorCode::io);
  EXPECT_EQ(files(), std::vector<std::string>{"in.safetensors"});
}

TEST_F(Convert, StoppedItLeavesNothingAndTheOldFileStays) {
  ConvertRequest r = request({tensor("a", {64, 256}), tensor("b", {64, 256})}, "out.gguf", DType::q8_0);
  write_file(r.out, "old");
  std::atomic<bool> cancel{false};
  r.cancel = &cancel;
  int64_t seen = 0;
  r.on_progress = [&](int64_t done, int64_t total) {
    seen = total;
    cancel = done < total;  // after the first tensor
  };
  const auto stopped = convert_model(r);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
  EXPECT_EQ(seen, 2 * 64 * 8 * 34);
  EXPECT_EQ(read_file(r.out), "old");
  EXPECT_EQ(files(), (std::vector<std::string>{"in.safetensors", "out.gguf"}));
}

TEST(ConvertType, Names) {
  EXPECT_EQ(convert_type_from_name("q4_K"), DType::q4_k);
  EXPECT_EQ(convert_type_from_name("IQ4_XS"), DType::iq4_xs);
  EXPECT_EQ(convert_type_from_name("F16"), DType::f16);
  EXPECT_EQ(convert_type_from_name("fp8"), DType::f8_e4m3);
  EXPECT_EQ(convert_type_from_name("f8_e4m3fn"), DType::f8_e4m3);
  EXPECT_EQ(convert_type_from_name("NVFP4"), DType::nvfp4);
  EXPECT_EQ(convert_type_from_name("q4"), std::nullopt);
  EXPECT_EQ(convert_type_from_name(""), std::nullopt);
}

// Query, key and value as one tensor: the bytes of a file that held them joined.
TEST_F(Convert, RowsOfSeveralTensorsMakeOne) {
  const std::vector<TensorDataPtr> parts{tensor("q", {8, 64}), tensor("kk", {4, 64}), tensor("vvv", {8, 64})};
  std::vector<float> all;
  for (const TensorDataPtr& t : parts) {
    const std::vector<float> own = values(t->name, t->desc.count());
    all.insert(all.end(), own.begin(), own.end());
  }
  for (const DType type : {DType::q8_0, DType::f32}) {
    ConvertRequest whole = request({make_tensor("q", DType::f32, {20, 64}, all)}, "whole.gguf", type);
    whole.report_error = true;
    const ConvertReport expected = run(whole);
    ConvertInput input;
    ASSERT_TRUE(input.weights.add(parts[0], "test").ok());
    input.more_rows["q"] = {parts[1], parts[2]};
    input.metadata = {{"modelspec.title", "toy"}};
    ConvertRequest r = whole;
    r.out = folder_ / "joined.gguf";
    const auto report = convert_input(r, std::move(input));
    ASSERT_TRUE(report.ok()) << report.error().format();
    EXPECT_EQ(read_file(folder_ / "joined.gguf"), read_file(folder_ / "whole.gguf"));
    EXPECT_EQ(of(*report, "q").shape, (Shape{20, 64}));
    EXPECT_EQ(of(*report, "q").source_bytes, 20 * 64 * 4);
    EXPECT_NEAR(of(*report, "q").rmse, of(expected, "q").rmse, 1e-9);
  }
  ConvertInput misfit;
  ASSERT_TRUE(misfit.weights.add(parts[0], "test").ok());
  misfit.more_rows["q"] = {tensor("k", {8, 32})};
  ConvertRequest r = request({parts[0]}, "o.gguf", DType::q8_0);
  EXPECT_TRUE(error_has(convert_input(r, std::move(misfit)).error(), {"do not fit"}));
}

}  // namespace
}  // namespace chiaro
