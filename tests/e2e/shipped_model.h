// The model that ships, opened once for all tests: through the public API, and taken apart.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chiaro/chiaro.h"
#include "pipeline/assembly.h"
#include "pipeline/image/compare.h"
#include "pipeline/stage_runner.h"

namespace chiaro::testing {

inline std::string source_path(const std::string& path) {
  return std::string(CHIARO_SOURCE_DIR) + "/" + path;
}
inline std::string shipped_model_path() {
  return source_path("models/tiny");
}

// One Session for every test that does not test sessions. Ends the program where the model does not load: no test
// here can run without it.
Session& shared_session();

// A picture of `session`, or a failed expectation and nothing.
std::vector<Picture> pictures_of(Session& session, const GenerateRequest& request, const Callbacks& callbacks = {});

// The same model below the public API.
struct Parts {
  std::shared_ptr<Engine> engine;
  std::unique_ptr<Assembly> assembly;
  std::unique_ptr<StageRunner> fused, plain;  // with the fuse pass, and without
};
Parts& shared_parts();

// tests/golden/tiny/reference.json
std::vector<std::string> golden_prompts();

// How near a picture is to tests/golden/tiny/<file>; a failed expectation where it cannot be compared.
ImageDifference difference_from_golden(const Picture& picture, const std::string& file);

}  // namespace chiaro::testing
