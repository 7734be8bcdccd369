// The shipped model, and small requests for it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "chiaro/chiaro.h"

namespace chiaro::testing {

inline const std::string kTinyModel = std::string(CHIARO_SOURCE_DIR) + "/models/tiny";

inline std::shared_ptr<Session> load_tiny(LoadOptions options = {}) {
  options.model = kTinyModel;
  if (options.threads == 0) options.threads = 2;
  auto session = Session::load(options);
  EXPECT_TRUE(session.ok()) << (session.ok() ? "" : session.error().format());
  return session.ok() ? *session : nullptr;
}

// 64x64 in `steps` steps.
inline GenerateRequest small_request(int steps = 2) {
  GenerateRequest request;
  request.prompt = "a red apple on a blue background";
  request.width = request.height = 64;
  request.steps = steps;
  return request;
}

inline GenerateResult generated(Session& session, const GenerateRequest& request, const Callbacks& callbacks = {}) {
  auto result = session.generate(request, callbacks);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().format());
  return result.ok() ? std::move(*result) : GenerateResult{};
}

}  // namespace chiaro::testing
