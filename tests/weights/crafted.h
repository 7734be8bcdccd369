// Crafted files for the tests of the weights room.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "chiaro/error.h"

namespace chiaro::testing {

// A fresh folder, removed at the end. `name` may hold any UTF-8.
class TempFolder {
 public:
  explicit TempFolder(std::string_view name = "") {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::string test = std::string(info->test_suite_name()) + "." + info->name();
    root_ = std::filesystem::path(CHIARO_TMP_DIR) / ("weights." + test);
    std::filesystem::remove_all(root_);
    path_ = name.empty() ? root_ : root_ / std::string(name);
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() {
    std::error_code ec;
    std::filesystem::remove_all(root_, ec);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / std::string(name); }

 private:
  std::filesystem::path root_, path_;
};

inline std::filesystem::path write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(out.good()) << path;
  return path;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The 8 bytes of a length, little-endian.
inline std::string u64(uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

// A safetensors file with this header and `data_bytes` bytes of data: 0, 1, 2, ...
inline std::string safetensors_file(std::string_view header, size_t data_bytes) {
  std::string file = u64(header.size()) + std::string(header);
  for (size_t i = 0; i < data_bytes; ++i) file += static_cast<char>(i);
  return file;
}

// A header entry without the braces around it: "a":{"dtype":"F32",...}.
inline std::string entry(std::string_view name, std::string_view dtype, std::string_view shape,
                         std::string_view offsets) {
  std::ostringstream text;
  text << '"' << name << R"(":{"dtype":")" << dtype << R"(","shape":)" << shape << R"(,"data_offsets":)" << offsets
       << '}';
  return std::move(text).str();
}

// All lines of an error, to search in.
inline ::testing::AssertionResult error_has(const Error& error, std::initializer_list<std::string_view> parts) {
  const std::string text = error.format();
  for (const std::string_view part : parts) {
    if (text.find(part) == std::string::npos) {
      return ::testing::AssertionFailure() << "\"" << part << "\" is not in:\n" << text;
    }
  }
  if (error.mend.empty()) return ::testing::AssertionFailure() << "no word on how to mend it:\n" << text;
  return ::testing::AssertionSuccess();
}

}  // namespace chiaro::testing
