// Where the pictures of a run go: checked before the work begins.
#pragma once

#include <filesystem>
#include <string>

#include "chiaro/error.h"

namespace chiaro::cli {

class OutputNames {
 public:
  // `output`: "a.png" (then a_2.png, a_3.png, ...) or a pattern with %d or %03d (numbers from 0, as sd-cli counts).
  // Opens a file in the folder and takes it away again, so that a run that could not be saved does not begin.
  // Errors: usage (not .png, folder missing or not writable).
  static Result<OutputNames> make(const std::string& output);
  std::filesystem::path name(int index) const;

 private:
  std::string before_, after_;  // of the number
  int digits_ = 0;              // least number of digits
  bool pattern_ = false;
};

// Errors: usage where `name` does not end in .png; `flag` names it.
Status check_picture_name(const std::string& name, const std::string& flag);
// Errors: usage where a file cannot be made at `path`; `flag` names it.
Status check_writable(const std::filesystem::path& path, const std::string& flag);

}  // namespace chiaro::cli
