// What is written into a picture comes out again, whatever the prompt holds; broken chunks are refused.
#include "pipeline/image/metadata.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "crafted_png.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;

GenerateRequest full_request() {
  GenerateRequest r;
  r.width = 16;
  r.height = 8;
  r.steps = 7;
  r.cfg_scale = 5.123456789012345;
  r.seed = std::numeric_limits<uint64_t>::max();
  r.sampling_method = "euler";
  r.schedule = "karras";
  r.rng = "cpu";
  r.eta = 0.1;
  r.clip_skip = 2;
  r.flow_shift = 3.25;
  r.precision = "f16";
  return r;
}

Picture picture_of(const GenerateRequest& r) {
  return {r.width, r.height, r.seed, std::vector<uint8_t>(static_cast<size_t>(r.width * r.height * 3), 90)};
}

fs::path temporary(const std::string& name) {
  return fs::path(CHIARO_TMP_DIR) / name;
}

StoredRequest through_a_file(const GenerateRequest& r) {
  const fs::path path = temporary("metadata.png");
  EXPECT_TRUE(save_picture(path.string(), picture_of(r), r, "models/v1.5").ok());
  const auto text = read_png_text(path);
  EXPECT_TRUE(text.ok());
  auto stored = stored_request(*text, "metadata.png");
  EXPECT_TRUE(stored.ok()) << (stored.ok() ? "" : stored.error().format());
  fs::remove(path);
  return stored.ok() ? *stored : StoredRequest{};
}

class Prompts : public ::testing::TestWithParam<std::string> {};

TEST_P(Prompts, ComeBackByteForByte) {
  GenerateRequest r = full_request();
  r.prompt = GetParam();
  r.negative_prompt = GetParam() + "!";
  const StoredRequest stored = through_a_file(r);
  EXPECT_EQ(stored.request.prompt, r.prompt);
  EXPECT_EQ(stored.request.negative_prompt, r.negative_prompt);
}
INSTANTIATE_TEST_SUITE_P(Kinds, Prompts,
                         ::testing::Values("", "a \"quoted\" \\ cat", "two\nlines\r\n\ttabbed", "猫, тест, 🐈 é",
                                           std::string("a\x01\x1b[31m\x7f b"), std::string("nul\0inside", 10),
                                           "Steps: 1, Seed: 2\nNegative prompt: no", std::string(100'000, 'x')));

TEST(Metadata, EveryFieldComesBack) {
  const GenerateRequest r = full_request();
  const StoredRequest stored = through_a_file(r);
  EXPECT_EQ(stored.model, "models/v1.5");
  EXPECT_EQ(stored.version, version());
  EXPECT_EQ(stored.request.width, 16);
  EXPECT_EQ(stored.request.height, 8);
  EXPECT_EQ(stored.request.steps, 7);
  EXPECT_EQ(stored.request.cfg_scale, r.cfg_scale);
  EXPECT_EQ(stored.request.seed, r.seed);
  EXPECT_EQ(stored.request.sampling_method, "euler");
  EXPECT_EQ(stored.request.precision, "f16");
  EXPECT_EQ(stored.request.schedule, "karras");
  EXPECT_EQ(stored.request.rng, "cpu");
  EXPECT_EQ(stored.request.eta, 0.1);
  EXPECT_EQ(stored.request.clip_skip, 2);
  EXPECT_EQ(stored.request.flow_shift, 3.25);
  EXPECT_EQ(stored.request.batch_count, 1);
}

TEST(Metadata, TheParametersAreTheWebuisText) {
  GenerateRequest r = full_request();
  r.prompt = "a cat";
  r.negative_prompt = "a dog";
  const PngText text = picture_text(r, "/home/somebody/stable-diffusion-v1.5/", picture_of(r));
  ASSERT_EQ(text.size(), 2u);
  EXPECT_EQ(text[0].first, "parameters");
  EXPECT_EQ(text[0].second,
            "a cat\nNegative prompt: a dog\nSteps: 7, Sampler: euler, Schedule type: karras, CFG scale: "
            "5.123456789012345, Seed: 18446744073709551615, Size: 16x8, Model: stable-diffusion-v1.5, RNG: cpu, "
            "Flow shift: 3.25, Clip skip: 2, Version: chiaro " +
                std::string(version()));
}

TEST(Metadata, TheParametersHoldNoControlCharacters) {
  GenerateRequest r = full_request();
  r.prompt = std::string("a\0b\x1b[2Jc\nd", 10);
  const PngText text = picture_text(r, "tiny", picture_of(r));
  EXPECT_EQ(text[0].second.substr(0, 10), "a b [2Jc\nd");
}

TEST(Metadata, WhatIsNotUtf8IsReplaced) {
  GenerateRequest r = full_request();
  r.prompt = "a\xff b";
  const PngText text = picture_text(r, "tiny", picture_of(r));
  EXPECT_EQ(text[0].second.substr(0, 7), "a\xEF\xBF\xBD b\n");
  EXPECT_EQ(stored_request(text, "")->request.prompt, "a\xEF\xBF\xBD b");
}

TEST(Metadata, PartsOfTheModelAreStored) {
  GenerateRequest r = full_request();
  r.engine.parts.vae = "my vae.safetensors";
  r.engine.parts.clip_l = "clip.gguf";
  r.engine.prediction = "v";
  const PngText text = picture_text(r, "tiny", picture_of(r));
  const auto stored = stored_request(text, "x.png");
  ASSERT_TRUE(stored.ok()) << stored.error().format();
  EXPECT_EQ(stored->request.engine, r.engine);
  std::string json = text[1].second;
  const std::string whole = "\"vae\":\"my vae.safetensors\"";
  ASSERT_NE(json.find(whole), std::string::npos) << json;
  json.replace(json.find(whole), whole.size(), "\"vae\":7");
  EXPECT_FALSE(stored_request({{"chiaro", json}}, "x.png").ok());
}

Error refused(const std::string& json) {
  const auto stored = stored_request({{"chiaro", json}}, "x.png");
  EXPECT_FALSE(stored.ok()) << json;
  return stored.ok() ? Error{} : stored.error();
}

TEST(Metadata, BrokenChunksAreRefused) {
  for (const char* json : {"", "{", "{}", "[]", "7", "{\"prompt\":\"\xff\"}"}) {
    EXPECT_EQ(refused(json).code, ErrorCode::bad_file) << json;
  }
  // One field of a whole chunk changed, or left out: the rest must not hide it.
  const std::string whole = picture_text(full_request(), "tiny", picture_of(full_request()))[1].second;
  ASSERT_TRUE(stored_request({{"chiaro", whole}}, "x.png").ok()) << whole;
  const std::pair<const char*, const char*> changes[] = {
      {"\"steps\":7", "\"steps\":\"7\""},
      {"\"steps\":7", "\"steps\":7.5"},
      {"\"steps\":7", "\"steps\":99999999999"},
      {"\"width\":16", "\"width\":18446744073709551611"},
      {"\"seed\":18446744073709551615", "\"seed\":-1"},
      {"\"seed\":18446744073709551615", "\"seed\":1e30"},
      {"\"precision\":\"f16\"", "\"precision\":[\"f16\"]"},
      {"\"rng\":\"cpu\"", "\"rng\":null"},
      {"\"steps\":7,", ""},
      {"\"precision\":\"f16\",", ""},
  };
  for (const auto& [from, to] : changes) {
    std::string json = whole;
    const size_t at = json.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << whole;
    json.replace(at, std::string_view(from).size(), to);
    EXPECT_EQ(refused(json).code, ErrorCode::bad_file) << json;
  }
  EXPECT_EQ(refused(std::string(100'000, '[')).code, ErrorCode::bad_file);
}

TEST(Metadata, APictureOfAnotherProgramSaysSo) {
  const auto stored = stored_request({{"parameters", "a cat\nSteps: 20"}}, "x.png");
  ASSERT_FALSE(stored.ok());
  EXPECT_NE(stored.error().what.find("x.png"), std::string::npos);
}

TEST(Metadata, TextOfADamagedPngIsRefused) {
  const fs::path path = temporary("damaged.png");
  const std::string good = testing::png(
      {.between = testing::chunk("tEXt", std::string("chiaro\0{}", 9)), .rows = testing::raw({0, 1, 2, 3})});
  for (const size_t length : {size_t{0}, size_t{7}, size_t{20}, size_t{40}, good.size() - 30}) {
    std::ofstream(path, std::ios::binary) << good.substr(0, length);
    const auto text = read_png_text(path);
    EXPECT_FALSE(text.ok()) << "cut to " << length;
  }
  fs::remove(path);
}

}  // namespace
}  // namespace chiaro
