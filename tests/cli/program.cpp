#include "program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

// Only async-signal-safe calls between fork and exec.
[[noreturn]] void become_program(const char* folder, const std::string& base, char** argv) {
  const int in = ::open((base + ".in").c_str(), O_RDONLY);
  const int out = ::open((base + ".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int err = ::open((base + ".err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (in < 0 || out < 0 || err < 0 || ::chdir(folder) != 0) ::_exit(126);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::execv(argv[0], argv);
  ::_exit(127);
}

}  // namespace

std::vector<std::string> Outcome::out_lines() const {
  std::vector<std::string> lines;
  std::istringstream stream(out);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

fs::path tiny_model() {
  return fs::path(CHIARO_SOURCE_DIR) / "models" / "tiny";
}

Running::Running(const fs::path& folder, const std::vector<std::string>& arguments, const std::string& stdin_text)
    : base_(folder.string() + ".io") {
  std::ofstream(base_.string() + ".in", std::ios::binary) << stdin_text;
  std::vector<std::string> words{CHIARO_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string base = base_.string();
  pid_ = ::fork();
  if (pid_ == 0) become_program(folder.c_str(), base, argv.data());
}

Running::~Running() {
  if (pid_ > 0 && !ended_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
  }
  for (const char* end : {".in", ".out", ".err"}) fs::remove(base_.string() + end);
}

void Running::signal(int number) {
  if (!finished()) ::kill(pid_, number);
}

bool Running::finished() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return ended_;
}

std::string Running::err_so_far() const {
  return read_file(base_.string() + ".err");
}

Outcome Running::wait() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, 0) == pid_;
  Outcome outcome;
  outcome.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  outcome.out = read_file(base_.string() + ".out");
  outcome.err = err_so_far();
  return outcome;
}

Folder::Folder(const std::string& name) : path_(fs::path(CHIARO_TMP_DIR) / ("cli " + name)) {
  fs::remove_all(path_);
  fs::create_directories(path_);
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Outcome Folder::run(const std::vector<std::string>& arguments, const std::string& stdin_text) const {
  return Running(path_, arguments, stdin_text).wait();
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> quick(std::vector<std::string> more) {
  std::vector<std::string> all{"-p", "a red apple", "-W", "64", "-H", "64", "--steps", "1"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace chiaro::testing
