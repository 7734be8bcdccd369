// Mutated files: refused, or read as a consistent file; never a byte outside the file.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "weights/crafted.h"
#include "weights/safetensors_header.h"

namespace chiaro {
namespace {

std::string golden(std::string_view name) {
  return testing::read_file(std::filesystem::path(CHIARO_SOURCE_DIR) / "tests/golden/safetensors" / std::string(name));
}

// The bytes on the heap, exactly as long as the file, so that a sanitizer sees every step outside.
Result<SafetensorsHeader> parse(const std::string& file) {
  const std::vector<char> exact(file.begin(), file.end());
  return parse_safetensors_header(testing::as_bytes({exact.data(), exact.size()}), "mutant");
}

// Checks an accepted header against the file by a plain count that shares nothing with the reader.
bool consistent(const SafetensorsHeader& header, size_t file_bytes) {
  uint64_t covered = 0;
  for (const SafetensorsEntry& e : header.entries) {
    if (e.begin > e.end || e.end > file_bytes - header.data_start) return false;
    covered += e.end - e.begin;
    if (!e.dtype) {
      if (e.skip_reason.empty()) return false;
      continue;
    }
    long double bytes = traits(*e.dtype).block_bytes;
    for (const int64_t d : e.shape) bytes *= static_cast<long double>(d);
    if (bytes != static_cast<long double>(e.end - e.begin)) return false;
  }
  return header.data_start + covered == file_bytes;
}

void check(const std::string& file) {
  const auto header = parse(file);
  if (!header.ok()) {
    RC_ASSERT(header.error().code == ErrorCode::bad_file);
    RC_ASSERT(!header.error().why.empty());
    RC_ASSERT(header.error().format().size() < 2000u);
  } else {
    RC_ASSERT(consistent(*header, file.size()));
  }
}

TEST(SafetensorsMutations, TheGoldenFilesAreConsistent) {
  for (const char* name : {"usable.safetensors", "mixed.safetensors", "no_tensors.safetensors"}) {
    const std::string file = golden(name);
    const auto header = parse(file);
    ASSERT_TRUE(header.ok());
    EXPECT_TRUE(consistent(*header, file.size())) << name;
  }
}

TEST(SafetensorsMutations, FlippedBytes) {
  const std::string valid = golden("mixed.safetensors");
  EXPECT_TRUE(rc::check("flip up to four bytes of the header", [&] {
    std::string file = valid;
    const int flips = *rc::gen::inRange(1, 5);
    for (int i = 0; i < flips; ++i) file[*rc::gen::inRange<size_t>(0, 1500)] = *rc::gen::arbitrary<char>();
    check(file);
  }));
}

TEST(SafetensorsMutations, ChangedDigits) {
  // Digits carry the shapes and offsets: changing them alone keeps the JSON valid and reaches the checks behind it.
  const std::string valid = golden("mixed.safetensors");
  std::vector<size_t> digits;
  for (size_t i = 8; i < 1500; ++i) {
    if (valid[i] >= '0' && valid[i] <= '9') digits.push_back(i);
  }
  EXPECT_TRUE(rc::check("change up to three digits", [&] {
    std::string file = valid;
    const int changes = *rc::gen::inRange(1, 4);
    for (int i = 0; i < changes; ++i) file[*rc::gen::elementOf(digits)] = *rc::gen::inRange<char>('0', '9' + 1);
    check(file);
  }));
}

TEST(SafetensorsMutations, CutAndGrown) {
  const std::string valid = golden("usable.safetensors");
  for (size_t length = 0; length < valid.size(); ++length) {
    ASSERT_FALSE(parse(valid.substr(0, length)).ok()) << "cut to " << length;
  }
  EXPECT_FALSE(parse(valid + '\0').ok());
  EXPECT_TRUE(rc::check("move a piece of the file", [&] {
    std::string file = valid;
    const auto from = *rc::gen::inRange<size_t>(0, file.size());
    const auto length = *rc::gen::inRange<size_t>(1, 40);
    const std::string piece = file.substr(from, length);
    file.erase(from, length);
    file.insert(*rc::gen::inRange<size_t>(0, file.size() + 1), piece);
    check(file);
  }));
}

}  // namespace
}  // namespace chiaro
