// A command as text: split into words without a shell, or handed to one, with the output's path put in.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "chiaro/error.h"

namespace chiaro::ab {

inline constexpr std::string_view kOutputMark = "{out}";

// Splits at blanks. 'single quotes' take everything as it is; in "double quotes" a backslash takes the next " or \ as
// it is; outside of quotes a backslash takes any character as it is. Nothing else is special: no variables, patterns
// or ~. Errors: usage, for an open quote, an empty command, and a word that only a shell understands (| > < & ; && ||).
Result<std::vector<std::string>> split_command(std::string_view text);

struct CommandText {
  std::string text{};
  bool shell = false;         // hand it to /bin/sh -c
  std::string output_flag{};  // "-o": appended with the path; empty: the text has {out}, or no output
};

bool names_output(const CommandText& command);
// The words to run, with `out` for {out} (quoted for the shell where there is one).
Result<std::vector<std::string>> words_of(const CommandText& command, const std::filesystem::path& out);

}  // namespace chiaro::ab
