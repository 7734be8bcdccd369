#include "ab/command_line.h"

#include <algorithm>
#include <iterator>

#include "core/utf8_path.h"

namespace chiaro::ab {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kShellWords[] = {"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1", "&>"};

Error open_quote(char quote, std::string_view text) {
  return {ErrorCode::usage, "a command has an open quote",
          std::string(1, quote) + " is not closed in: " + std::string(text), "close it, or put a \\ before it", ""};
}

Error for_a_shell(std::string_view word, std::string_view text) {
  return {ErrorCode::usage, "a command needs a shell",
          "\"" + std::string(word) + "\" means nothing without one, in: " + std::string(text),
          "add --shell, or quote the word", ""};
}

// Reads one word from `at`, which stands on no blank. `plain` says that no quote or backslash was in it.
Result<std::string> read_word(std::string_view text, size_t& at, bool& plain) {
  std::string word;
  char quote = 0;
  plain = true;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool more = at + 1 < text.size();
    if (quote == 0 && kBlanks.find(c) != std::string_view::npos) break;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      plain = false;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else if (c == '\\' && more && (quote == 0 || (quote == '"' && (text[at + 1] == '"' || text[at + 1] == '\\')))) {
      word += text[++at];
      plain = false;
    } else {
      word += c;
    }
  }
  if (quote != 0) return open_quote(quote, text);
  return word;
}

std::string replaced(std::string text, const std::string& by) {
  for (size_t at = text.find(kOutputMark); at != std::string::npos; at = text.find(kOutputMark, at + by.size())) {
    text.replace(at, kOutputMark.size(), by);
  }
  return text;
}

// As one word of a POSIX shell.
std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

Result<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = text.find_first_not_of(kBlanks, at)) != std::string_view::npos;) {
    bool plain = true;
    CHIARO_ASSIGN(std::string word, read_word(text, at, plain));
    if (plain && std::find(std::begin(kShellWords), std::end(kShellWords), word) != std::end(kShellWords)) {
      return for_a_shell(word, text);
    }
    words.push_back(std::move(word));
  }
  if (words.empty()) return Error{ErrorCode::usage, "a command is empty", "", "give the program and its flags", ""};
  return words;
}

bool names_output(const CommandText& command) {
  return !command.output_flag.empty() || command.text.find(kOutputMark) != std::string::npos;
}

Result<std::vector<std::string>> words_of(const CommandText& command, const std::filesystem::path& out) {
  const std::string path = path_to_utf8(out);
  if (command.shell) {
    if (command.text.find_first_not_of(kBlanks) == std::string::npos) return split_command(command.text);
    std::string text = replaced(command.text, shell_quoted(path));
    if (!command.output_flag.empty()) text += " " + command.output_flag + " " + shell_quoted(path);
    return std::vector<std::string>{"/bin/sh", "-c", text};
  }
  CHIARO_ASSIGN(std::vector<std::string> words, split_command(command.text));
  for (std::string& word : words) word = replaced(word, path);
  if (!command.output_flag.empty()) {
    words.push_back(command.output_flag);
    words.push_back(path);
  }
  return words;
}

}  // namespace chiaro::ab
