#include "shipped_model.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <utility>

#include "pipeline/image/compare.h"

namespace chiaro::testing {
namespace {

constexpr double kLeastPsnr = 50;  // dB

const Image& cpu_picture(bool fuse, int steps) {
  static std::map<std::pair<bool, int>, Image> made;
  const auto [place, is_new] = made.try_emplace({fuse, steps});
  if (is_new) place->second = picture_with({.fuse = fuse}, steps).image;
  return place->second;
}

void expect_alike(const Image& image, const Image& cpu, const std::string& title) {
  const auto difference = compare_images(image, cpu);
  ASSERT_TRUE(difference.ok()) << title << ": " << difference.error().format();
  std::printf("%s: PSNR %.1f dB, largest difference %d, %lld pixels differ\n", title.c_str(), difference->psnr,
              difference->largest, static_cast<long long>(difference->pixels));
  EXPECT_GE(difference->psnr, kLeastPsnr) << title;
}

}  // namespace

std::string shipped_model() {
  return std::string(CHIARO_SOURCE_DIR) + "/models/tiny";
}

std::shared_ptr<Session> session_with(LoadOptions options) {
  if (options.model.empty()) options.model = shipped_model();
  auto session = Session::load(options);
  EXPECT_TRUE(session.ok()) << options.devices << ": " << session.error().format();
  return session.ok() ? std::move(session).value() : nullptr;
}

Result<Made> make_picture(Session& session, int steps) {
  GenerateRequest request;
  request.prompt = "a red apple on a blue background";
  request.width = request.height = 64;
  request.steps = steps;
  CHIARO_ASSIGN(GenerateResult result, session.generate(request, {}));
  Picture& picture = result.pictures.front();
  return Made{{picture.width, picture.height, std::move(picture.rgb)}, std::move(result.notices)};
}

Made picture_with(const LoadOptions& options, int steps) {
  const auto session = session_with(options);
  if (session == nullptr) return {};
  auto made = make_picture(*session, steps);
  EXPECT_TRUE(made.ok()) << options.devices << ": " << made.error().format();
  return made.ok() ? std::move(made).value() : Made{};
}

Made expect_the_cpus_picture(Session& session, const LoadOptions& options, int steps) {
  const auto start = std::chrono::steady_clock::now();
  auto made = make_picture(session, steps);
  EXPECT_TRUE(made.ok()) << options.devices << ": " << made.error().format();
  if (!made.ok()) return {};
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  char title[300];
  std::snprintf(title, sizeof title, "%s %s%s, %d steps, %.1f s", options.devices.c_str(), options.backend.c_str(),
                options.fuse ? "" : ", not fused", steps, seconds);
  expect_alike(made->image, cpu_picture(options.fuse, steps), title);
  return std::move(made).value();
}

Made expect_the_cpus_picture(const LoadOptions& options, int steps) {
  const auto session = session_with(options);
  return session == nullptr ? Made{} : expect_the_cpus_picture(*session, options, steps);
}

void expect_the_cpus_picture_of(const std::string& model, const std::string& device, int steps,
                                const std::string& title) {
  const Made made = picture_with({.model = model, .devices = device}, steps);
  EXPECT_TRUE(made.notices.empty()) << title << ": " << made.notices.front();
  expect_alike(made.image, picture_with({.model = model}, steps).image, device + " " + title);
}

std::string about_group_norm(const std::vector<std::string>& notices) {
  std::string all;
  for (const std::string& notice : notices) {
    if (notice.find("group_norm") != std::string::npos) all += notice + "\n";
  }
  return all;
}

}  // namespace chiaro::testing
