#include "shipped_model.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace chiaro::testing {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().format().c_str());
    std::exit(1);
  }
  return std::move(result).value();
}

}  // namespace

Session& shared_session() {
  static const std::shared_ptr<Session> session = [] {
    LoadOptions options;
    options.model = shipped_model_path();
    return must(Session::load(options));
  }();
  return *session;
}

std::vector<Picture> pictures_of(Session& session, const GenerateRequest& request, const Callbacks& callbacks) {
  auto result = session.generate(request, callbacks);
  if (!result.ok()) {
    ADD_FAILURE() << result.error().format();
    return {};
  }
  return std::move(result->pictures);
}

Parts& shared_parts() {
  static Parts parts = [] {
    Parts p;
    p.engine = must(Engine::create());
    p.assembly = must(assemble(shipped_model_path(), p.engine->log()));
    p.fused = std::make_unique<StageRunner>(*p.engine, PlanOptions{.fuse = true});
    p.plain = std::make_unique<StageRunner>(*p.engine, PlanOptions{.fuse = false});
    return p;
  }();
  return parts;
}

std::vector<std::string> golden_prompts() {
  std::ifstream file(source_path("tests/golden/tiny/reference.json"));
  return nlohmann::json::parse(file).at("prompts").get<std::vector<std::string>>();
}

ImageDifference difference_from_golden(const Picture& picture, const std::string& file) {
  const auto expected = load_image(source_path("tests/golden/tiny/" + file));
  if (!expected.ok()) {
    ADD_FAILURE() << expected.error().format();
    return {};
  }
  const auto difference = compare_images({picture.width, picture.height, picture.rgb}, *expected);
  if (!difference.ok()) {
    ADD_FAILURE() << difference.error().format();
    return {};
  }
  return *difference;
}

}  // namespace chiaro::testing
