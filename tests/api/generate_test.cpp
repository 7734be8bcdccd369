// Generating: what the callbacks see, cancelling, seeds, memory given back.
#include <atomic>
#include <set>
#include <thread>

#include "session_fixtures.h"

namespace chiaro {
namespace {

using namespace testing;

TEST(Generate, ProgressComesInOrder) {
  const auto session = load_tiny();
  std::vector<Progress> seen;
  Callbacks callbacks;
  callbacks.on_progress = [&](const Progress& p) { seen.push_back(p); };
  GenerateRequest request = small_request();
  request.batch_count = 3;
  request.batch_size = 2;
  generated(*session, request, callbacks);
  // encode 0/1 1/1, then for pictures {0, 1} and {2}: sample 0/2 1/2 2/2, decode 0/n .. n/n.
  std::string text;
  for (const Progress& p : seen) {
    text += std::string(stage_name(p.stage)) + std::to_string(p.picture) + ":" + std::to_string(p.step) + "/" +
            std::to_string(p.steps) + " ";
    EXPECT_EQ(p.pictures, 3);
    EXPECT_GE(p.seconds, 0);
  }
  EXPECT_EQ(text,
            "encode0:0/1 encode0:1/1 sample0:0/2 sample0:1/2 sample0:2/2 decode0:0/2 decode0:1/2 decode0:2/2 "
            "sample2:0/2 sample2:1/2 sample2:2/2 decode2:0/1 decode2:1/1 ");
}

TEST(Generate, PicturesAreHandedOutAsTheyAreDone) {
  const auto session = load_tiny();
  std::vector<Picture> seen;
  Callbacks callbacks;
  callbacks.on_picture = [&](const Picture& picture, int index, const GenerateRequest& used) -> Status {
    EXPECT_EQ(index, static_cast<int>(seen.size()));
    EXPECT_EQ(used.width, 64);
    EXPECT_FALSE(used.sampling_method.empty());
    seen.push_back(picture);
    return {};
  };
  GenerateRequest request = small_request(1);
  request.batch_count = 2;
  const GenerateResult result = generated(*session, request, callbacks);
  ASSERT_EQ(seen.size(), 2u);
  ASSERT_EQ(result.pictures.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(seen[i].rgb, result.pictures[i].rgb);
    EXPECT_EQ(seen[i].seed, 42 + i);
    EXPECT_EQ(seen[i].rgb.size(), 64u * 64 * 3);
  }
  EXPECT_NE(seen[0].rgb, seen[1].rgb);
}

TEST(Generate, AnErrorOfOnPictureEndsTheRun) {
  const auto session = load_tiny();
  int calls = 0;
  Callbacks callbacks;
  callbacks.on_picture = [&](const Picture&, int, const GenerateRequest&) -> Status {
    ++calls;
    return Error{ErrorCode::io, "the disk is full", "", "", ""};
  };
  GenerateRequest request = small_request(1);
  request.batch_count = 3;
  const auto result = session->generate(request, callbacks);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().what, "the disk is full");
  EXPECT_EQ(calls, 1);
}

TEST(Generate, LatentsComeAfterEveryStep) {
  const auto session = load_tiny();
  std::vector<int> steps;
  Callbacks callbacks;
  callbacks.on_latent = [&](const LatentView& latent) {
    steps.push_back(latent.step);
    EXPECT_EQ(latent.pictures, 1);
    EXPECT_EQ(latent.height, latent.width);
    EXPECT_EQ(64 % latent.height, 0);
    EXPECT_TRUE(latent.data[0] == latent.data[0]);
  };
  generated(*session, small_request(3), callbacks);
  EXPECT_EQ(steps, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Generate, TheProfileNamesEveryKernel) {
  const auto session = load_tiny();
  std::set<std::string> stages, ops;
  Callbacks callbacks;
  callbacks.on_op = [&](const OpTime& time) {
    stages.insert(std::string(time.stage));
    ops.insert(std::string(time.op));
    EXPECT_FALSE(time.kernel.empty());
    EXPECT_GE(time.seconds, 0);
  };
  generated(*session, small_request(1), callbacks);
  EXPECT_EQ(stages, (std::set<std::string>{"decode", "encode", "sample"}));
  for (const char* op : {"conv2d", "matmul", "attention", "group_norm"}) EXPECT_TRUE(ops.count(op)) << op;
}

TEST(Generate, CancelFromAThreadStopsAndTheNextRunIsRight) {
  const auto session = load_tiny();
  const GenerateResult before = generated(*session, small_request());
  std::atomic<bool> cancel{false}, sampling{false};
  Callbacks callbacks;
  callbacks.cancel = &cancel;
  callbacks.on_progress = [&](const Progress& p) { sampling = sampling || (p.stage == Stage::sample && p.step > 0); };
  std::thread other([&] {
    while (!sampling) std::this_thread::yield();
    cancel = true;
  });
  const auto stopped = session->generate(small_request(1000), callbacks);
  other.join();
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
  EXPECT_EQ(generated(*session, small_request()).pictures[0].rgb, before.pictures[0].rgb);
}

TEST(Generate, AFlagThatIsSetBeforehandStopsAtOnce) {
  const auto session = load_tiny();
  const std::atomic<bool> cancel{true};
  Callbacks callbacks;
  callbacks.cancel = &cancel;
  const auto stopped = session->generate(small_request(1000), callbacks);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
}

TEST(Generate, TwoSessionsAtOnceGiveTheSameAsOne) {
  const auto a = load_tiny(), b = load_tiny();
  GenerateRequest other = small_request();
  other.seed = 7;
  const auto alone_a = generated(*a, small_request()).pictures[0].rgb;
  const auto alone_b = generated(*a, other).pictures[0].rgb;
  std::vector<uint8_t> together_b;
  std::thread thread([&] { together_b = generated(*b, other).pictures[0].rgb; });
  const auto together_a = generated(*a, small_request()).pictures[0].rgb;
  thread.join();
  EXPECT_EQ(together_a, alone_a);
  EXPECT_EQ(together_b, alone_b);
}

TEST(Generate, TwoThreadsOnOneSessionTakeTurns) {
  const auto session = load_tiny();
  const auto alone = generated(*session, small_request()).pictures[0].rgb;
  std::vector<uint8_t> first, second;
  std::thread thread([&] { first = generated(*session, small_request()).pictures[0].rgb; });
  second = generated(*session, small_request()).pictures[0].rgb;
  thread.join();
  EXPECT_EQ(first, alone);
  EXPECT_EQ(second, alone);
}

TEST(Generate, RandomSeedsDifferAndCanBeRepeated) {
  const auto session = load_tiny();
  GenerateRequest random = small_request(1);
  random.random_seed = true;
  std::set<uint64_t> seeds;
  for (int i = 0; i < 3; ++i) {
    const GenerateResult drawn = generated(*session, random);
    ASSERT_EQ(drawn.pictures.size(), 1u);
    EXPECT_FALSE(drawn.used.random_seed);
    EXPECT_EQ(drawn.used.seed, drawn.pictures[0].seed);
    seeds.insert(drawn.used.seed);
    EXPECT_EQ(generated(*session, drawn.used).pictures[0].rgb, drawn.pictures[0].rgb) << drawn.used.seed;
  }
  EXPECT_EQ(seeds.size(), 3u);
}

TEST(Generate, TheLargestSeedsWrapAround) {
  const auto session = load_tiny();
  GenerateRequest request = small_request(1);
  request.seed = ~uint64_t{0};
  request.batch_count = 2;
  const GenerateResult result = generated(*session, request);
  ASSERT_EQ(result.pictures.size(), 2u);
  EXPECT_EQ(result.pictures[0].seed, ~uint64_t{0});
  EXPECT_EQ(result.pictures[1].seed, 0u);
}

TEST(Generate, WrongRequestsAreUsageErrorsAndHarmless) {
  const auto session = load_tiny();
  const auto code = [&](auto&& change) {
    GenerateRequest request = small_request(1);
    change(request);
    const auto result = session->generate(request);
    return result.ok() ? ErrorCode::internal : result.error().code;
  };
  EXPECT_EQ(code([](auto& r) { r.width = 7; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.height = 1 << 20; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.steps = 0; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.steps = -5; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.batch_count = 0; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.batch_size = 0; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.cfg_scale = 0.0 / 0.0; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.eta = -1; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.sampling_method = "x"; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.schedule = "x"; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.rng = "x"; }), ErrorCode::usage);
  EXPECT_EQ(code([](auto& r) { r.clip_skip = 65; }), ErrorCode::usage);
  EXPECT_EQ(generated(*session, small_request(1)).pictures.size(), 1u);
}

}  // namespace
}  // namespace chiaro
