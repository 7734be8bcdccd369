// Which model a command works on.
#pragma once

#include <optional>
#include <string>

#include "chiaro/error.h"

namespace chiaro::cli {

struct ModelPath {
  std::string path;  // to open
  std::string name;  // to record in pictures: as the user gave it, or the shipped model's name
};

// `asked`: a path, the name of a model that ships with Chiaro ("tiny"), or nothing for the default one.
// Errors: io where nothing was asked for and no model is installed.
Result<ModelPath> find_model(const std::optional<std::string>& asked);

}  // namespace chiaro::cli
