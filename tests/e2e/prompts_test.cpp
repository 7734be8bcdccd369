// Prompts as people write them: long, weighted, broken, tagged, damaged and empty.
#include <gtest/gtest.h>

#include <cmath>

#include "pipeline/conditioning.h"
#include "recorded_run.h"

namespace chiaro::testing {
namespace {

// Small and quick; what is asked of it is whether two prompts give the same picture.
GenerateRequest quick(const std::string& prompt) {
  GenerateRequest request = small_request("ddim");
  request.prompt = prompt;
  request.width = 64;
  request.steps = 2;
  return request;
}

RecordedPicture draw(const GenerateRequest& request) {
  auto pictures = record(shared_session(), request);
  return pictures.empty() ? RecordedPicture{} : std::move(pictures[0]);
}

std::vector<std::string> notices_of(const GenerateRequest& request) {
  const auto result = shared_session().generate(request);
  if (!result.ok()) {
    ADD_FAILURE() << result.error().format();
    return {};
  }
  EXPECT_EQ(result->pictures.size(), 1u);
  return result->notices;
}

bool any_says(const std::vector<std::string>& notices, std::string_view text) {
  for (const std::string& notice : notices) {
    if (notice.find(text) != std::string::npos) return true;
  }
  return false;
}

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

Conditioning encoded(const std::string& prompt, const std::string& negative) {
  Parts& parts = shared_parts();
  auto out = encode_prompts(*parts.assembly, *parts.fused, {prompt, negative, true, 0, DType::f32}, {});
  EXPECT_TRUE(out.ok()) << out.error().format();
  return out.ok() ? std::move(out).value() : Conditioning{};
}

TEST(Prompts, LongOnesAreReadWholeAndTheOtherSideIsPadded) {
  const std::string words = times(50, "a red apple ");  // 150 tokens
  const std::string prompt = words + times(25, "a cat ");
  const Conditioning both = encoded(prompt, "a dog");
  EXPECT_EQ(both.length, 3 * 77);
  EXPECT_EQ(both.rows, 2);
  EXPECT_EQ(both.context.size(), static_cast<size_t>(2 * 3 * 77 * 192));
  // The padding of the negative side is the empty prompt's chunk.
  const Conditioning empty = encoded("", "");
  const size_t chunk = 77 * 192;
  EXPECT_TRUE(std::equal(empty.context.begin(), empty.context.begin() + chunk, both.context.begin() + chunk));
  EXPECT_TRUE(std::equal(empty.context.begin(), empty.context.begin() + chunk, both.context.begin() + 2 * chunk));
  EXPECT_TRUE(both.notices.empty());

  GenerateRequest request = quick(prompt);
  request.negative_prompt = "a dog";
  EXPECT_TRUE(notices_of(request).empty());
  EXPECT_FALSE(draw(request) == draw(quick(words))) << "what stands in the third chunk has no effect";
}

TEST(Prompts, ALongNegativePromptPadsTheOther) {
  const Conditioning both = encoded("a dog", times(80, "cat "));
  EXPECT_EQ(both.length, 2 * 77);
}

TEST(Prompts, BreakBeginsAnotherChunk) {
  EXPECT_EQ(encoded("a red apple BREAK on a blue background", "").length, 2 * 77);
  EXPECT_FALSE(draw(quick("a red apple BREAK on a blue background")) ==
               draw(quick("a red apple on a blue background")));
}

TEST(Prompts, WeightsOfOneChangeNoBit) {
  const auto plain = draw(quick("a red apple on a blue background"));
  EXPECT_TRUE(draw(quick("(a red apple:1.0) on a blue background")) == plain);
  EXPECT_TRUE(draw(quick("(a red apple:1) on (a blue:1.00) background")) == plain);
}

TEST(Prompts, OtherWeightsChangeThePicture) {
  const auto plain = draw(quick("a red apple on a blue background"));
  const auto strong = draw(quick("a (red:1.5) apple on a blue background"));
  const auto weak = draw(quick("a (red:0.5) apple on a blue background"));
  EXPECT_FALSE(strong == plain);
  EXPECT_FALSE(weak == plain);
  EXPECT_FALSE(strong == weak);
  EXPECT_TRUE(draw(quick("a (red) apple on a blue background")) ==
              draw(quick("a (red:1.1) apple on a blue background")));
}

// The weighted tokens are scaled, and the chunk's mean is as before.
TEST(Prompts, WeightsKeepTheMeanOfAChunk) {
  const size_t chunk = 77 * 192;
  const auto mean = [&](const Conditioning& c) {
    double sum = 0;
    for (size_t i = chunk; i < 2 * chunk; ++i) sum += c.context[i];
    return sum / static_cast<double>(chunk);
  };
  const Conditioning plain = encoded("a red apple", ""), heavy = encoded("a (red:1.7) apple", "");
  EXPECT_NEAR(mean(heavy), mean(plain), 1e-5 * std::max(1.0, std::abs(mean(plain))));
  const size_t red = chunk + 2 * 192, apple = chunk + 3 * 192;  // after the begin token and "a"
  double most = 0, other = 0;
  const double scale = heavy.context[chunk] / plain.context[chunk];
  for (size_t i = 0; i < 192; ++i) {
    most = std::max(most, std::abs(heavy.context[red + i] - 1.7 * scale * plain.context[red + i]));
    other = std::max(other, std::abs(heavy.context[apple + i] - scale * plain.context[apple + i]));
  }
  EXPECT_LT(most, 1e-4);
  EXPECT_LT(other, 1e-4);
}

TEST(Prompts, WhatIsCutIsReported) {
  const std::string prompt = times(2400, "cat ") + "apple dog";
  EXPECT_EQ(encoded(prompt, "").length, 32 * 77);
  GenerateRequest request = quick(prompt);
  request.height = 32;
  request.width = 32;
  request.steps = 1;
  const auto notices = notices_of(request);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_TRUE(any_says(notices, "prompt: the last 2 of 2402 tokens were cut")) << notices[0];
  EXPECT_TRUE(any_says(notices, "apple dog")) << notices[0];
}

TEST(Prompts, LoraTagsAreReportedAndNoPartOfTheText) {
  const auto notices = notices_of(quick("a red apple <lora:ghibli style v1.0:0.8> on a blue background"));
  EXPECT_TRUE(any_says(notices, "LoRA \"ghibli style v1.0\" was not applied"));
  EXPECT_TRUE(draw(quick("a red apple<lora:x:0.8> on a blue background")) ==
              draw(quick("a red apple on a blue background")));
  EXPECT_TRUE(any_says(notices_of(quick("a cat <lora:../../secret:1>")), "was refused"));
}

TEST(Prompts, DamagedTextMakesAPictureOrAUsageError) {
  for (const std::string& prompt : {std::string("\xFF\xFE a cat"), std::string("a cat \xC3"), std::string("a\0cat", 5),
                                    std::string("((((((a cat"), std::string("a cat]]])))"), std::string("(a:nan)"),
                                    std::string("<lora:"), std::string("\xF0\x9F\x90\x88 \xE7\x8C\xAB")}) {
    const auto result = shared_session().generate(quick(prompt));
    if (result.ok()) {
      EXPECT_EQ(result->pictures.size(), 1u);
    } else {
      EXPECT_EQ(result.error().code, ErrorCode::usage) << result.error().format();
    }
  }
}

TEST(Prompts, TheEmptyOneIsAPromptToo) {
  const auto empty = draw(quick(""));
  EXPECT_EQ(empty.picture.width, 64);
  EXPECT_FALSE(empty == draw(quick("a red apple")));
  EXPECT_TRUE(draw(quick("   ")) == empty);
}

TEST(Guidance, OfOneLeavesTheNegativePromptOut) {
  GenerateRequest request = quick("a red apple on a blue background");
  request.cfg_scale = 1;
  request.negative_prompt.clear();
  EXPECT_TRUE(notices_of(request).empty());
  const auto alone = draw(request);
  request.negative_prompt = "a cat";
  EXPECT_TRUE(any_says(notices_of(request), "no effect"));
  EXPECT_TRUE(draw(request) == alone);
  // u + g (c - u) tends to c as g tends to 1, so the short way must agree with the long one.
  request.cfg_scale = 1 + 1e-6;
  const auto guided = draw(request);
  double largest = 0;
  for (size_t i = 0; i < alone.latents.size(); ++i) {
    largest = std::max(largest, std::abs(double{alone.latents[i]} - double{guided.latents[i]}));
  }
  EXPECT_LT(largest, 1e-4);
  EXPECT_GT(largest, 0);
}

TEST(Guidance, NegativePromptCounts) {
  GenerateRequest request = quick("a red apple on a blue background");
  request.negative_prompt.clear();
  const auto without = draw(request);
  request.negative_prompt = "a blue background";
  EXPECT_FALSE(draw(request) == without);
}

TEST(ClipSkip, ChangesTheConditioningAndHasALimit) {
  GenerateRequest request = quick("a red apple");
  const auto last = draw(request);
  request.clip_skip = 1;
  EXPECT_TRUE(draw(request) == last);
  request.clip_skip = 2;
  EXPECT_FALSE(draw(request) == last);
  request.clip_skip = 5;  // of four layers
  const auto result = shared_session().generate(request);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace chiaro::testing
