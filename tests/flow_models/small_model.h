// The small models of tests/golden/flow_models, written to diffusers folders: formula weights, and one of the cases'
// schedulers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace chiaro::testing {

// `family`: "zimage" or "qwen_image". Its cases.json.
nlohmann::json flow_cases(const std::string& family);
// Returns the folder's path. `one`: a case of it.
std::string write_flow_model(const std::string& family, const std::string& name, const nlohmann::json& one);

}  // namespace chiaro::testing
