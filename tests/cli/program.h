// Runs the built program as a shell would.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace chiaro::testing {

struct Outcome {
  int code = -1;  // exit code, or 128 + signal
  std::string out, err;
  std::vector<std::string> out_lines() const;
};

// A program that runs. Its output goes to files beside `folder`, so that nothing can block.
class Running {
 public:
  Running(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
          const std::string& stdin_text = "");
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();  // kills it where it still runs

  void signal(int number);
  bool finished();
  std::string err_so_far() const;
  Outcome wait();

 private:
  std::filesystem::path base_;  // for .in, .out, .err
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

// A fresh, empty folder of this test; it is the program's working folder.
class Folder {
 public:
  explicit Folder(const std::string& name);
  ~Folder();
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  Outcome run(const std::vector<std::string>& arguments, const std::string& stdin_text = "") const;
  std::vector<std::string> names() const;  // of what lies in it, sorted

 private:
  std::filesystem::path path_;
};

// A prompt, 64x64 pixels and one step, and what else is wanted.
std::vector<std::string> quick(std::vector<std::string> more = {});
std::string read_file(const std::filesystem::path& path);
std::filesystem::path tiny_model();

}  // namespace chiaro::testing
