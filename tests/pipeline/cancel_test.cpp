// Cancelling from another thread, at any moment: an error or the finished picture, and the next run is right.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <stdexcept>
#include <thread>

#include "long_tests.h"
#include "toy_model.h"

namespace chiaro::testing {
namespace {

std::vector<uint8_t> pixels(const Result<GenerateResult>& result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().format();
    return {};
  }
  return result->pictures.at(0).rgb;
}

GenerateRequest longer_request() {
  GenerateRequest request = toy_request();
  request.width = request.height = 48;
  request.steps = 24;
  return request;
}

TEST(Cancel, AtRandomMomentsHurtsNothing) {
  const auto session = open_toy(toy_options(write_toy_model("cancel")));
  ASSERT_TRUE(session);
  const std::vector<uint8_t> expected = pixels(session->generate(longer_request()));
  std::mt19937 random(1);
  int cancelled = 0, finished = 0;
  const int rounds = long_tests() ? 500 : 100;
  for (int i = 0; i < rounds; ++i) {
    if (i % 7 == 0) session->trim();  // so that planning is cancelled into as well
    std::atomic<bool> cancel{false};
    const auto delay = std::chrono::microseconds(random() % 50000);
    std::thread other([&] {
      std::this_thread::sleep_for(delay);
      cancel = true;
    });
    int pictures = 0;
    Callbacks callbacks;
    callbacks.cancel = &cancel;
    callbacks.on_picture = [&](const Picture&, int, const GenerateRequest&) {
      ++pictures;
      return Status{};
    };
    const auto result = session->generate(longer_request(), callbacks);
    other.join();
    if (result.ok()) {
      ++finished;
      EXPECT_TRUE(pixels(result) == expected);
    } else {
      ++cancelled;
      EXPECT_EQ(result.error().code, ErrorCode::cancelled) << result.error().format();
      EXPECT_EQ(pictures, 0);
    }
  }
  ::testing::Test::RecordProperty("cancelled", cancelled);
  EXPECT_GT(cancelled, 0) << "all " << finished << " runs were faster than they were cancelled";
  EXPECT_TRUE(pixels(session->generate(longer_request())) == expected);
}

TEST(Cancel, BeforeTheStartMakesNothing) {
  const auto session = open_toy(toy_options(write_toy_model("cancel")));
  ASSERT_TRUE(session);
  const std::atomic<bool> cancel{true};
  Callbacks callbacks;
  callbacks.cancel = &cancel;
  callbacks.on_picture = [](const Picture&, int, const GenerateRequest&) {
    ADD_FAILURE() << "a picture was made";
    return Status{};
  };
  const auto result = session->generate(toy_request(), callbacks);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::cancelled);
  EXPECT_TRUE(session->generate(toy_request()).ok());
}

// What was handed out before is whole and is the caller's.
TEST(Cancel, BetweenPicturesKeepsThoseThatAreDone) {
  const auto session = open_toy(toy_options(write_toy_model("cancel")));
  ASSERT_TRUE(session);
  GenerateRequest request = toy_request();
  const std::vector<uint8_t> expected = pixels(session->generate(request));
  request.batch_count = 4;
  std::atomic<bool> cancel{false};
  std::vector<Picture> kept;
  Callbacks callbacks;
  callbacks.cancel = &cancel;
  callbacks.on_picture = [&](const Picture& picture, int index, const GenerateRequest&) {
    EXPECT_EQ(index, static_cast<int>(kept.size()));
    kept.push_back(picture);
    if (kept.size() == 2) cancel = true;
    return Status{};
  };
  const auto result = session->generate(request, callbacks);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::cancelled);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_TRUE(kept[0].rgb == expected);
}

TEST(Cancel, InEveryStage) {
  const auto session = open_toy(toy_options(write_toy_model("cancel")));
  ASSERT_TRUE(session);
  for (const Stage stage : {Stage::encode, Stage::sample, Stage::decode}) {
    std::atomic<bool> cancel{false};
    Callbacks callbacks;
    callbacks.cancel = &cancel;
    callbacks.on_progress = [&](const Progress& p) {
      if (p.stage == stage) cancel = true;
    };
    const auto result = session->generate(toy_request(), callbacks);
    ASSERT_FALSE(result.ok()) << stage_name(stage);
    EXPECT_EQ(result.error().code, ErrorCode::cancelled);
  }
}

TEST(Threads, CallsOnOneSessionTakeTurnsAndSessionsRunAtOnce) {
  const std::string path = write_toy_model("cancel");
  const auto shared = open_toy(toy_options(path)), own = open_toy(toy_options(path));
  ASSERT_TRUE(shared && own);
  const std::vector<uint8_t> expected = pixels(shared->generate(toy_request()));
  std::vector<std::thread> callers;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&, t] {
      Session& session = t < 2 ? *shared : *own;
      for (int i = 0; i < 5; ++i) {
        const auto result = session.generate(toy_request());
        right += result.ok() && result->pictures[0].rgb == expected ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right, 20);
}

// A caller's callback that throws must not take the program with it.
TEST(Callbacks, ThatFailOrThrowEndTheRunWithAnError) {
  const auto session = open_toy(toy_options(write_toy_model("cancel")));
  ASSERT_TRUE(session);
  Callbacks callbacks;
  callbacks.on_picture = [](const Picture&, int, const GenerateRequest&) {
    return Status(Error{ErrorCode::io, "the disk is full", "", "", ""});
  };
  auto result = session->generate(toy_request(), callbacks);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::io);
  callbacks = {};
  callbacks.on_progress = [](const Progress& p) {
    if (p.stage == Stage::sample) throw std::runtime_error("thrown by the caller");
  };
  result = session->generate(toy_request(), callbacks);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::internal);
  EXPECT_NE(result.error().format().find("thrown by the caller"), std::string::npos);
  callbacks.on_progress = [](const Progress&) { throw 5; };
  result = session->generate(toy_request(), callbacks);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::internal);
  EXPECT_TRUE(session->generate(toy_request()).ok());
}

}  // namespace
}  // namespace chiaro::testing
