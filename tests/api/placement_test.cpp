// Devices and placement through the C++ API and the C API.
#include <algorithm>

#include "chiaro/chiaro_c.h"
#include "session_fixtures.h"

namespace chiaro {
namespace {

using namespace testing;

TEST(Placement, ChangesNoPixelAndIsToldInTheResult) {
  const auto alone = load_tiny();
  LoadOptions options;
  options.devices = "cpu,isolated:a,no=group_norm";
  options.backend = "diffusion=isolated:a";
  options.fuse = false;
  const auto placed = load_tiny(options);
  options = {};
  options.fuse = false;
  const auto unfused = load_tiny(options);
  ASSERT_TRUE(alone && placed && unfused);
  const GenerateResult there = generated(*placed, small_request());
  EXPECT_EQ(there.used.engine.devices, "cpu,isolated:a,no=group_norm");
  EXPECT_EQ(there.used.engine.backend, "diffusion=isolated:a");
  EXPECT_FALSE(there.used.engine.fuse);
  ASSERT_EQ(there.notices.size(), 1U) << "one stage had nodes moved";
  EXPECT_EQ(there.notices[0].rfind("sampling step: ", 0), 0U) << there.notices[0];
  EXPECT_NE(there.notices[0].find("copied per step"), std::string::npos) << there.notices[0];
  EXPECT_EQ(generated(*placed, small_request()).notices.size(), 1U) << "once per run, also with cached plans";
  const GenerateResult here = generated(*unfused, small_request());
  EXPECT_TRUE(here.notices.empty());
  ASSERT_EQ(here.pictures.size(), 1U);
  ASSERT_EQ(there.pictures.size(), 1U);
  EXPECT_EQ(here.pictures[0].rgb, there.pictures[0].rgb);
  EXPECT_EQ(generated(*alone, small_request()).used.engine, EngineSettings{});
}

TEST(Placement, MistakesAreUsageErrors) {
  const std::pair<LoadOptions, const char*> cases[] = {
      {{.devices = "abacus"}, "there is no device \"abacus\""},
      {{.devices = "isolated:a,speed=9"}, "speed"},
      {{.backend = "unet=cpu"}, "te, diffusion, vae, all"},
      {{.devices = "cpu", .backend = "vae=isolated:a"}, "the devices are cpu"},
  };
  for (auto [options, says] : cases) {
    options.model = kTinyModel;
    const auto session = Session::load(options);
    ASSERT_FALSE(session.ok()) << says;
    EXPECT_EQ(session.error().code, ErrorCode::usage) << session.error().format();
    EXPECT_NE(session.error().format().find(says), std::string::npos) << session.error().format();
  }
}

TEST(Placement, ThroughTheCInterface) {
  chiaro_load_options options;
  chiaro_init_load_options(&options, sizeof options);
  EXPECT_EQ(options.devices, nullptr);
  EXPECT_EQ(options.backend, nullptr);
  options.model = kTinyModel.c_str();
  options.threads = 2;
  options.backend = "unet=cpu";
  chiaro_session* session = nullptr;
  chiaro_error* error = chiaro_load(&options, &session);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code, CHIARO_USAGE);
  EXPECT_NE(std::string(error->mend).find("te, diffusion, vae, all"), std::string::npos) << error->mend;
  EXPECT_EQ(session, nullptr);
  chiaro_free_error(error);

  options.devices = "isolated:a,cpu";
  options.backend = "te=cpu,diffusion=isolated:a,vae=cpu";
  ASSERT_EQ(chiaro_load(&options, &session), nullptr);
  chiaro_request request;
  chiaro_init_request(&request, sizeof request);
  const GenerateRequest small = small_request();
  request.prompt = small.prompt.c_str();
  request.width = request.height = small.width;
  request.steps = small.steps;
  chiaro_pictures* pictures = nullptr;
  ASSERT_EQ(chiaro_generate(session, &request, &pictures), nullptr);
  const auto alone = load_tiny();
  const GenerateResult here = generated(*alone, small);
  const chiaro_picture* picture = chiaro_picture_at(pictures, 0);
  ASSERT_EQ(picture->rgb_size, here.pictures.at(0).rgb.size());
  EXPECT_TRUE(std::equal(picture->rgb, picture->rgb + picture->rgb_size, here.pictures[0].rgb.begin()));
  chiaro_free_pictures(pictures);
  chiaro_free_session(session);
}

}  // namespace
}  // namespace chiaro
