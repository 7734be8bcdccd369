// Pictures and previews by a TAESD (tests/golden/taesd/sd2: diffusers' AutoencoderTiny on the small model's latents).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "chiaro/chiaro.h"
#include "golden_file.h"
#include "models/formula_weights.h"
#include "small_model.h"
#include "weights/safetensors.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

// The file of the golden TAESD, both halves or one.
std::string write_taesd(const std::string& name, const std::string& half = "") {
  const fs::path folder = fs::path(CHIARO_TMP_DIR) / "sd2_taesd";
  fs::create_directories(folder);
  const auto weights = test::FormulaWeights::open(fs::path(CHIARO_SOURCE_DIR) / "tests/golden/taesd/sd2/tensors.json");
  std::vector<TensorDataPtr> tensors;
  for (const TensorDataPtr& t : weights.all()) {
    if (t->name.starts_with(half)) tensors.push_back(t);
  }
  const fs::path path = folder / (name + ".safetensors");
  const Status saved = save_safetensors(path, tensors);
  EXPECT_TRUE(saved.ok()) << saved.error().format();
  return path.string();
}

class Taesd : public ::testing::Test {
 protected:
  GenerateRequest request(const std::string& name) const {
    const nlohmann::json& one = cases_.at("cases").at(name);
    GenerateRequest r;
    r.prompt = cases_.at("prompt").get<std::string>();
    r.seed = cases_.at("seed").get<uint64_t>();
    r.steps = one.at("steps").get<int>();
    r.cfg_scale = one.at("guidance").get<double>();
    return r;
  }
  LoadOptions options(const std::string& name) const {
    LoadOptions o;
    o.model = write_small_model("taesd_" + name, cases_.at("cases").at(name));
    o.threads = 2;
    return o;
  }
  static std::shared_ptr<Session> load(const LoadOptions& o) {
    auto session = Session::load(o);
    EXPECT_TRUE(session.ok()) << session.error().format();
    return session.ok() ? *session : nullptr;
  }
  static Picture picture(Session& session, const GenerateRequest& r, const Callbacks& callbacks = {}) {
    const auto result = session.generate(r, callbacks);
    EXPECT_TRUE(result.ok()) << result.error().format();
    return result.ok() ? result->pictures.at(0) : Picture{};
  }
  // To the picture that diffusers makes of the same latents.
  static void expect_golden(const Picture& made, const std::string& name) {
    const std::vector<float> image = golden(open_golden("taesd/sd2/io.safetensors"), name + ".image");  // [3,64,64]
    ASSERT_EQ(made.rgb.size(), image.size());
    for (size_t c = 0; c < 3; ++c) {
      for (size_t p = 0; p < image.size() / 3; ++p) {
        ASSERT_NEAR(made.rgb[p * 3 + c], image[c * (image.size() / 3) + p] * 255, 0.7) << c << " " << p;
      }
    }
  }
  const nlohmann::json cases_ = small_cases();
};

// The small decoder has no norms and no attention: away from a tile's edges it sees all that reaches a pixel.
TEST_F(Taesd, InTiles) {
  LoadOptions o = options("turbo1");
  o.parts.taesd = write_taesd("both");
  const auto session = load(o);
  GenerateRequest r = request("turbo1");
  r.width = r.height = 128;
  const Picture whole = picture(*session, r);
  r.vae_tiling = {Tiling::on, 1000, 1000, 0.5};
  EXPECT_TRUE(picture(*session, r).rgb == whole.rgb);
  r.vae_tiling = {Tiling::on, 10, 8, 0.5};
  const Picture tiles = picture(*session, r);
  ASSERT_EQ(tiles.rgb.size(), whole.rgb.size());
  EXPECT_EQ(tiles.tiling.tile_width, 10);
  EXPECT_TRUE(tiles.rgb != whole.rgb);
  double sum = 0;
  for (size_t i = 0; i < whole.rgb.size(); ++i) {
    const int difference = int{whole.rgb[i]} - int{tiles.rgb[i]};
    sum += difference * difference;
  }
  const double psnr = 10 * std::log10(255.0 * 255.0 * static_cast<double>(whole.rgb.size()) / sum);
  std::printf("  TAESD in tiles: %.1f dB\n", psnr);
  EXPECT_GT(psnr, 20);
}

TEST_F(Taesd, MakesThePicturesOfDiffusers) {
  for (const char* name : {"turbo1", "turbo4"}) {
    LoadOptions o = options(name);
    for (const char* half : {"", "decoder."}) {
      o.parts.taesd = write_taesd(name, half);
      const auto session = load(o);
      ASSERT_TRUE(session);
      EXPECT_TRUE(session->info().unused.empty()) << session->info().unused.front();
      EXPECT_EQ(session->info().components.back().family, "TAESD");
      expect_golden(picture(*session, request(name)), name);
    }
  }
}

TEST_F(Taesd, PreviewsAloneLeaveThePictureToTheVae) {
  LoadOptions o = options("turbo4");
  const Picture plain = picture(*load(o), request("turbo4"));
  o.parts.taesd = write_taesd("previews");
  o.taesd_preview_only = true;
  const auto session = load(o);
  ASSERT_TRUE(session);
  for (const PreviewKind kind : {PreviewKind::none, PreviewKind::proj, PreviewKind::tae, PreviewKind::vae}) {
    for (const bool noisy : {false, true}) {
      std::vector<int> steps;
      Picture last;
      Callbacks callbacks;
      callbacks.preview = {kind, 2, noisy};
      callbacks.on_preview = [&](const Picture& p, int index, int step) {
        EXPECT_EQ(index, 0);
        EXPECT_EQ(p.width, 64);
        EXPECT_EQ(p.height, 64);
        EXPECT_EQ(p.rgb.size(), 64u * 64 * 3);
        steps.push_back(step);
        last = p;
        return Status();
      };
      EXPECT_EQ(picture(*session, request("turbo4"), callbacks).rgb, plain.rgb);
      const bool none = kind == PreviewKind::none;
      EXPECT_EQ(steps, none ? std::vector<int>() : (std::vector<int>{2, 4}));
      // After the last step of Euler no noise is left: noisy or not, it is the finished picture.
      if (kind == PreviewKind::tae) expect_golden(last, "turbo4");
      if (kind == PreviewKind::vae) {
        EXPECT_EQ(last.rgb, plain.rgb);
      }
    }
  }
}

TEST_F(Taesd, NoisyPreviewsDifferBeforeTheEnd) {
  const auto session = load(options("turbo4"));
  ASSERT_TRUE(session);
  std::vector<Picture> first;
  for (const bool noisy : {false, true}) {
    Callbacks callbacks;
    callbacks.preview = {PreviewKind::proj, 1, noisy};
    callbacks.on_preview = [&](const Picture& p, int, int step) {
      if (step == 1) first.push_back(p);
      return Status();
    };
    picture(*session, request("turbo4"), callbacks);
  }
  ASSERT_EQ(first.size(), 2u);
  EXPECT_NE(first[0].rgb, first[1].rgb);
}

TEST_F(Taesd, AFailedPreviewIsANoticeAndNoMore) {
  const auto session = load(options("turbo4"));
  ASSERT_TRUE(session);
  int shown = 0;
  Callbacks callbacks;
  callbacks.preview.kind = PreviewKind::proj;
  callbacks.on_preview = [&](const Picture&, int, int) -> Status {
    ++shown;
    return Error{ErrorCode::io, "the disk is full", "no room", "", ""};
  };
  const auto result = session->generate(request("turbo4"), callbacks);
  ASSERT_TRUE(result.ok()) << result.error().format();
  EXPECT_EQ(shown, 1);
  ASSERT_EQ(result->notices.size(), 1u);
  EXPECT_NE(result->notices[0].find("the disk is full"), std::string::npos) << result->notices[0];
}

TEST_F(Taesd, WhatCannotBeIsRefusedByItsFlag) {
  LoadOptions o = options("turbo1");
  const auto refused = [&](const std::string& piece) {
    const auto session = Session::load(o);
    ASSERT_FALSE(session.ok());
    EXPECT_NE(session.error().format().find(piece), std::string::npos) << session.error().format();
  };
  o.parts.taesd = write_taesd("encoder", "encoder.");
  refused("encoder alone");
  o.parts.taesd = o.model + "/vae/diffusion_pytorch_model.safetensors";
  refused("no small decoder");
  o.parts.taesd.clear();
  const auto session = load(o);
  ASSERT_TRUE(session);
  Callbacks callbacks;
  callbacks.preview.kind = PreviewKind::tae;
  EXPECT_EQ(session->generate(request("turbo1"), callbacks).error().code, ErrorCode::usage);
  callbacks.preview = {PreviewKind::proj, 0};
  EXPECT_EQ(session->generate(request("turbo1"), callbacks).error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace chiaro::testing
