// Whole runs of Z-Image's and Qwen-Image's kind against diffusers' pipelines (tests/golden/flow_models): latents of
// every step and the picture; and what such models take and refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "chiaro/chiaro.h"
#include "golden_file.h"
#include "pipeline/step_graph.h"
#include "runtime/engine.h"
#include "sanitized.h"
#include "small_model.h"

namespace chiaro::testing {
namespace {

using Trail = std::vector<std::vector<float>>;

GenerateRequest request_of(const nlohmann::json& cases, const nlohmann::json& one) {
  GenerateRequest request;
  request.prompt = cases.at("prompt").get<std::string>();
  request.negative_prompt = cases.at("negative").get<std::string>();
  request.seed = cases.at("seed").get<uint64_t>();
  request.steps = one.at("steps").get<int>();
  request.cfg_scale = one.at("guidance").get<double>();
  request.width = one.at("width").get<int>();
  request.height = one.at("height").get<int>();
  if (request.cfg_scale == 1.0) request.negative_prompt.clear();
  return request;
}

std::shared_ptr<Session> load(LoadOptions options) {
  options.threads = 2;
  auto session = Session::load(options);
  EXPECT_TRUE(session.ok()) << session.error().format();
  return session.ok() ? *session : nullptr;
}

struct Made {
  Trail latents;
  GenerateResult result;
};

Made make(Session& session, const GenerateRequest& request) {
  Made made;
  Callbacks callbacks;
  callbacks.on_latent = [&](const LatentView& v) {
    made.latents.emplace_back(v.data, v.data + v.pictures * v.channels * v.height * v.width);
  };
  auto result = session.generate(request, callbacks);
  EXPECT_TRUE(result.ok()) << result.error().format();
  if (result.ok()) made.result = std::move(*result);
  return made;
}

bool says(const std::vector<std::string>& notices, std::string_view text) {
  return std::any_of(notices.begin(), notices.end(),
                     [&](const std::string& n) { return n.find(text) != std::string::npos; });
}

struct Case {
  const char* family;
  const char* name;
};

class FlowPipeline : public ::testing::TestWithParam<Case> {
 protected:
  const std::string family_ = GetParam().family, name_ = GetParam().name;
  const nlohmann::json cases_ = flow_cases(family_);
  const nlohmann::json case_ = cases_.at("cases").at(name_);
  const std::string folder_ = write_flow_model(family_, name_, case_);

  void check(const Made& made, double bound, double levels) {
    const auto io = open_golden("flow_models/" + family_ + "/io.safetensors");
    const std::vector<float> expected = golden(io, name_ + ".latents");
    ASSERT_EQ(made.latents.size(), case_.at("steps").get<size_t>() + 1);
    const size_t one = made.latents[0].size();
    ASSERT_EQ(expected.size(), one * made.latents.size());
    double worst = 0;
    for (size_t i = 0; i < made.latents.size(); ++i) {
      const double error = relative_error(made.latents[i], std::span(expected).subspan(i * one, one));
      EXPECT_LT(error, i == 0 ? 1e-5 : bound) << "after step " << i;
      worst = std::max(worst, error);
    }
    std::printf("  latents within %.1e of the reference\n", worst);
    const std::vector<float> image = golden(io, name_ + ".image");  // [3,H,W] in 0..1
    const Picture& picture = made.result.pictures.at(0);
    ASSERT_EQ(picture.rgb.size(), image.size());
    const size_t pixels = image.size() / 3;
    for (size_t i = 0; i < image.size(); ++i) {
      ASSERT_NEAR(picture.rgb[i % pixels * 3 + i / pixels], image[i] * 255, levels) << i;
    }
  }
};

TEST_P(FlowPipeline, LatentsOfEveryStepAndThePicture) {
  for (const bool fuse : {true, false}) {
    const auto session = load({.model = folder_, .fuse = fuse});
    ASSERT_TRUE(session);
    EXPECT_EQ(session->info().unused, std::vector<std::string>{});
    const Made made = make(*session, request_of(cases_, case_));
    ASSERT_FALSE(made.result.pictures.empty());
    check(made, 1e-4, 0.6);
    EXPECT_EQ(says(made.result.notices, "weights, escapes and BREAK are not read"), true);
    EXPECT_EQ(says(made.result.notices, "negative prompt: "), false) << "it has none";
  }
}

// Each picture of a batch is the one that its seed makes alone, and a run is its own repetition.
TEST_P(FlowPipeline, SameBytesAloneAndTogether) {
  const auto session = load({.model = folder_});
  ASSERT_TRUE(session);
  GenerateRequest request = request_of(cases_, case_);
  request.batch_count = request.batch_size = 2;
  const Made together = make(*session, request);
  ASSERT_EQ(together.result.pictures.size(), 2u);
  request.batch_count = request.batch_size = 1;
  EXPECT_EQ(make(*session, request).result.pictures.at(0).rgb, together.result.pictures[0].rgb);
  ++request.seed;
  EXPECT_EQ(make(*session, request).result.pictures.at(0).rgb, together.result.pictures[1].rgb);
  EXPECT_NE(together.result.pictures[0].rgb, together.result.pictures[1].rgb);
}

// The GPU's kernels on the software GPU, which also finds races and what is read before it is written: sanitizers,
// which take minutes for it, add nothing.
TEST_P(FlowPipeline, OnTheSoftwareGpu) {
  if (CHIARO_SANITIZED) GTEST_SKIP() << "not under sanitizers";
  if (case_.at("guidance").get<double>() <= 1) return;  // the guided case runs the same kernels and more
  const auto session = load({.model = folder_, .devices = "softgpu:apple7"});
  ASSERT_TRUE(session);
  GenerateRequest request = request_of(cases_, case_);
  const Made made = make(*session, request);
  ASSERT_FALSE(made.result.pictures.empty());
  check(made, 2e-3, 2);
}

TEST_P(FlowPipeline, HalfPrecisionIsWidenedToBf16) {
  const auto session = load({.model = folder_, .precision = "f16"});
  ASSERT_TRUE(session);
  const Made made = make(*session, request_of(cases_, case_));
  EXPECT_TRUE(says(made.result.notices, "bf16 is used in its place"));
  EXPECT_EQ(made.result.used.precision, "bf16");
  const Made asked = make(*load({.model = folder_, .precision = "bf16"}), request_of(cases_, case_));
  EXPECT_EQ(made.result.pictures.at(0).rgb, asked.result.pictures.at(0).rgb);
  EXPECT_FALSE(says(asked.result.notices, "bf16 is used"));
}

INSTANTIATE_TEST_SUITE_P(Cases, FlowPipeline,
                         ::testing::Values(Case{"zimage", "turbo"}, Case{"zimage", "base"}, Case{"qwen_image", "plain"},
                                           Case{"qwen_image", "guided"}),
                         [](const auto& p) { return std::string(p.param.family) + "_" + p.param.name; });

TEST(FlowDefaults, OfEachFamily) {
  struct Expected {
    const char *family, *name, *title;
    int steps;
    double guidance;
  };
  for (const Expected& e :
       {Expected{"zimage", "turbo", "Z-Image-Turbo", 8, 1}, Expected{"zimage", "base", "Z-Image", 20, 5},
        Expected{"qwen_image", "guided", "Qwen-Image", 20, 4}}) {
    const nlohmann::json cases = flow_cases(e.family);
    const auto session = load({.model = write_flow_model(e.family, e.name, cases.at("cases").at(e.name))});
    ASSERT_TRUE(session);
    const ModelInfo& info = session->info();
    EXPECT_EQ(info.family, e.title);
    EXPECT_EQ(info.prediction, "flow");
    EXPECT_EQ(info.default_sampler, "euler");
    EXPECT_EQ(info.default_width, 1024);
    GenerateRequest request;
    request.width = request.height = 16;
    GenerateRequest used;
    Callbacks callbacks;
    callbacks.on_picture = [&](const Picture&, int, const GenerateRequest& r) -> Status {
      used = r;
      return {};
    };
    const auto result = session->generate(request, callbacks);
    ASSERT_TRUE(result.ok()) << result.error().format();
    EXPECT_EQ(used.steps, e.steps);
    EXPECT_EQ(used.cfg_scale, e.guidance);
    EXPECT_EQ(used.sampling_method, "euler");
  }
}

class FlowRequests : public ::testing::Test {
 protected:
  const nlohmann::json cases_ = flow_cases("zimage");
  const nlohmann::json case_ = cases_.at("cases").at("turbo");
  const std::shared_ptr<Session> session_ = load({.model = write_flow_model("zimage", "requests", case_)});
  GenerateRequest request() const { return request_of(cases_, case_); }
};

TEST_F(FlowRequests, TheShiftOfTheRequestMovesTheLevels) {
  GenerateRequest r = request();
  const auto usual = make(*session_, r).result.pictures.at(0).rgb;
  r.flow_shift = 3;  // the model's own
  EXPECT_EQ(make(*session_, r).result.pictures.at(0).rgb, usual);
  r.flow_shift = 1;
  EXPECT_NE(make(*session_, r).result.pictures.at(0).rgb, usual);
  for (const double bad : {-1.0, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    r.flow_shift = bad;
    const auto refused = session_->generate(r);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::usage);
    EXPECT_NE(refused.error().mend.find("--flow-shift"), std::string::npos) << refused.error().format();
  }
}

TEST_F(FlowRequests, SamplersOfFlows) {
  GenerateRequest r = request();
  std::vector<std::vector<uint8_t>> pictures;
  for (const char* name : {"euler", "heun", "dpm++2m"}) {
    r.sampling_method = name;
    pictures.push_back(make(*session_, r).result.pictures.at(0).rgb);
  }
  EXPECT_NE(pictures[0], pictures[1]);
  EXPECT_NE(pictures[0], pictures[2]);
  for (const char* name : {"euler_a", "ddim"}) {
    r.sampling_method = name;
    const auto refused = session_->generate(r);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::usage);
    EXPECT_NE(refused.error().mend.find("euler"), std::string::npos);
  }
}

TEST_F(FlowRequests, WhatHasNoEffectIsSaid) {
  GenerateRequest r = request();
  r.schedule = "karras";
  r.clip_skip = 2;
  r.negative_prompt = "x";
  const Made made = make(*session_, r);
  for (const char* text : {"--schedule karras has no effect", "--clip-skip has no effect",
                           "the negative prompt has no effect at --cfg-scale 1"}) {
    EXPECT_TRUE(says(made.result.notices, text)) << text;
  }
  // Plain words bring no notice about weights, and a LoRA's tag is no text.
  r = request();
  r.prompt = "a red tree <lora:ink:0.5>";
  const Made plain = make(*session_, r);
  EXPECT_FALSE(says(plain.result.notices, "weights"));
  EXPECT_TRUE(says(plain.result.notices, "LoRA \"ink\" was not applied"));
  r.prompt = "a red tree ";
  EXPECT_EQ(make(*session_, r).result.pictures.at(0).rgb, plain.result.pictures.at(0).rgb);
}

// Any size is made: computed as whole tokens, then cropped.
TEST_F(FlowRequests, OddSizes) {
  GenerateRequest r = request();
  r.width = 21;
  r.height = 9;
  const Made made = make(*session_, r);
  EXPECT_EQ(made.result.pictures.at(0).rgb.size(), 21u * 9 * 3);
}

// A side that the model has no positions for.
TEST_F(FlowRequests, PicturesPastTheModelsPositionsAreRefused) {
  GenerateRequest r = request();
  r.width = 16384;
  r.height = 16;
  const auto refused = session_->generate(r);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::usage);
  EXPECT_NE(refused.error().mend.find("smaller picture"), std::string::npos) << refused.error().format();
}

// A prompt past the model's limit is cut, and said so.
TEST_F(FlowRequests, LongPromptsAreCut) {
  GenerateRequest r = request();
  r.steps = 1;
  r.prompt = std::string(600, 'x');
  EXPECT_TRUE(says(make(*session_, r).result.notices, "tokens were cut"));
}

// What was not asked for yet when a tensor is found missing is not called unused.
TEST_F(FlowRequests, AMissingTensorIsTheOnlyOneNamed) {
  const std::string folder = write_flow_model("zimage", "lacking", case_);
  const std::filesystem::path config = std::filesystem::path(folder) / "transformer/config.json";
  nlohmann::json settings;
  std::ifstream(config) >> settings;
  settings["n_layers"] = 3;
  std::ofstream(config) << settings;
  std::string said;
  LoadOptions options{.model = folder};
  options.log = [&](Severity, std::string_view, std::string_view line) { said += std::string(line) + "\n"; };
  const auto refused = Session::load(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().format().find("layers.2."), std::string::npos) << refused.error().format();
  EXPECT_NE(said.find("1 missing tensor"), std::string::npos) << said;
  EXPECT_EQ(said.find("unused tensor"), std::string::npos) << said;
}

TEST_F(FlowRequests, OptionsOfOtherModelsAreRefused) {
  const std::string folder = write_flow_model("zimage", "options", case_);
  const auto predicted = Session::load({.model = folder, .prediction = "v"});
  ASSERT_FALSE(predicted.ok());
  EXPECT_EQ(predicted.error().code, ErrorCode::usage);
  const auto clip = Session::load({.model = folder, .parts = {.clip_l = folder + "/text_encoder"}});
  ASSERT_FALSE(clip.ok());
  EXPECT_NE(clip.error().format().find("--clip_l has no use"), std::string::npos) << clip.error().format();
}

// A guided step calls the network twice and has each of its weights once.
TEST(FlowModels, AGuidedStepHasNoWeightTwice) {
  for (const char* family : {"zimage", "qwen_image"}) {
    const nlohmann::json cases = flow_cases(family);
    const std::string folder = write_flow_model(family, "weights_once", *cases.at("cases").begin());
    const auto log = Log::silent();
    const auto assembly = assemble(folder, *log).value();
    const auto engine = Engine::create({.threads = 1}).value();
    const auto plan = [&](bool guided) {
      StepRequest step;
      step.height = step.width = 8;
      step.context_length = 7;
      step.negative_length = 5;
      step.guided = guided;
      return make_plan(build_step(*assembly, step).value(), engine->devices()).value();
    };
    const auto once = plan(false), twice = plan(true);
    const auto named = [](const ExecutionPlan& p) {
      std::vector<std::string> names;
      for (const Storage& s : p.graph.storages()) {
        if (s.kind == StorageKind::weight) names.push_back(s.name);
      }
      std::sort(names.begin(), names.end());
      return names;
    };
    const std::vector<std::string> names = named(*twice);
    EXPECT_EQ(names, named(*once)) << family;
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << family;
    EXPECT_EQ(twice->packed.size(), once->packed.size());
    const auto weight_bytes = [](const ExecutionPlan& p) {
      int64_t bytes = 0;
      for (const Storage& s : p.graph.storages()) bytes += s.kind == StorageKind::weight ? s.bytes : 0;
      return bytes;
    };
    EXPECT_EQ(weight_bytes(*twice), weight_bytes(*once));
    EXPECT_LT(twice->weight_bytes, 2 * weight_bytes(*once));  // the rest are constants
  }
}

}  // namespace
}  // namespace chiaro::testing
