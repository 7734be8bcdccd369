// Hostile and damaged safetensors files: each is refused with the names and numbers that tell what is wrong.
#include "weights/crafted.h"
#include "weights/limited_memory.h"
#include "weights/safetensors.h"
#include "weights/safetensors_header.h"

namespace chiaro {
namespace {

using testing::as_bytes;
using testing::entry;
using testing::error_has;
using testing::expect_within;
using testing::Limited;
using testing::memory_can_be_limited;
using testing::safetensors_file;
using testing::TempFolder;
using testing::u64;
using testing::write_file;

struct Refusal {
  std::string title;
  std::string file;
  std::vector<std::string> parts;  // in the error
};

std::string one(std::string_view dtype, std::string_view shape, std::string_view offsets, size_t data) {
  return safetensors_file("{" + entry("a", dtype, shape, offsets) + "}", data);
}

std::vector<Refusal> offset_refusals() {
  const std::string two = "{" + entry("a", "F32", "[16]", "[0,64]") + ",";
  return {
      {"shape larger than its bytes",
       one("F32", "[1000,1000]", "[0,4]", 4),
       {"\"a\"", "[0,4]", "[1000,1000]", "4000000"}},
      {"shape smaller than its bytes", one("F32", "[1]", "[0,64]", 64), {"\"a\"", "64 bytes", "needs 4"}},
      {"begin after end", one("F32", "[16]", "[64,0]", 64), {"\"a\"", "[64,0]", "end before they begin"}},
      {"begin after end, empty", one("F32", "[0]", "[64,0]", 64), {"\"a\"", "[64,0]"}},
      {"overlap",
       safetensors_file(two + entry("b", "F32", "[16]", "[32,96]") + "}", 96),
       {"\"b\"", "[32,96]", "overlaps", "\"a\"", "[0,64]"}},
      {"same range twice", safetensors_file(two + entry("b", "F32", "[16]", "[0,64]") + "}", 64), {"overlaps"}},
      {"empty tensor inside another",
       safetensors_file(two + entry("b", "F32", "[0]", "[32,32]") + "}", 64),
       {"overlaps"}},
      {"gap of 8",
       safetensors_file(two + entry("b", "F32", "[1]", "[72,76]") + "}", 76),
       {"\"b\"", "[72,76]", "gap of 8 bytes"}},
      {"gap at the start", one("F32", "[1]", "[8,12]", 12), {"gap of 8 bytes"}},
      {"no offset", one("F32", "[1]", "[]", 4), {"\"a\"", "0 data_offsets", "2 are needed"}},
      {"one offset", one("F32", "[1]", "[0]", 4), {"\"a\"", "1 data_offsets", "2 are needed"}},
      {"three offsets", one("F32", "[1]", "[0,4,4]", 4), {"\"a\"", "more than two"}},
      {"negative offset", one("F32", "[1]", "[-4,0]", 4), {"\"a\"", "-4"}},
      {"offset 2^63",
       one("F32", "[1]", "[0,9223372036854775808]", 4),
       {"\"a\"", "9223372036854775808", "holds only 4"}},
      {"begin 2^63", one("F32", "[1]", "[9223372036854775808,9223372036854775812]", 4), {"\"a\"", "holds only 4"}},
      {"offset 2^64", one("F32", "[1]", "[0,18446744073709551616]", 4), {"\"a\"", "18446744073709551616"}},
      {"offset 1e3", one("F32", "[1]", "[0,4e0]", 4), {"\"a\"", "4e0", "whole numbers"}},
      {"offset as text", one("F32", "[1]", "[0,\"4\"]", 4), {"\"a\"", "whole numbers"}},
      {"nested offsets", one("F32", "[1]", "[[0],4]", 4), {"\"a\"", "a list"}},
      {"cut by one byte", one("F32", "[16]", "[0,64]", 63), {"\"a\"", "[0,64]", "only 63 bytes"}},
      {"one byte too many", one("F32", "[16]", "[0,64]", 65), {"end at byte 64", "65 bytes"}},
      {"data without tensors", safetensors_file("{}", 1), {"end at byte 0", "1 bytes"}},
  };
}

std::vector<Refusal> shape_and_dtype_refusals() {
  std::string ones = "[1";
  for (int i = 0; i < 32; ++i) ones += ",1";
  ones += "]";
  return {
      {"negative dimension", one("F32", "[-1]", "[0,4]", 4), {"\"a\"", "shape", "-1"}},
      {"dimension 2^63", one("F32", "[9223372036854775808]", "[0,4]", 4), {"\"a\"", "9223372036854775808"}},
      {"dimension 2^64", one("F32", "[18446744073709551616]", "[0,4]", 4), {"\"a\"", "18446744073709551616"}},
      {"product wraps to 4", one("F32", "[4611686018427387904,4611686018427387905]", "[0,4]", 4), {"63 bits"}},
      {"product wraps to 0", one("F32", "[4294967296,4294967296]", "[0,0]", 0), {"63 bits"}},
      {"zero hides a huge stride", one("F32", "[0,4294967296,4294967296]", "[0,0]", 0), {"63 bits"}},
      {"bytes wrap", one("F32", "[4611686018427387905]", "[0,4]", 4), {"\"a\""}},
      {"33 dimensions", one("F32", ones, "[0,4]", 4), {"\"a\"", "more than 32 dimensions"}},
      {"fraction", one("F32", "[1.5]", "[0,4]", 4), {"\"a\"", "1.5"}},
      {"shape is a number", one("F32", "1", "[0,4]", 4), {"\"a\""}},
      {"shape is null", one("F32", "null", "[0,4]", 4), {"\"a\"", "null"}},
      // The range is checked whatever the dtype.
      {"unknown dtype, begin 2^63",
       one("F6_E9", "[1]", "[9223372036854775808,9223372036854775812]", 4),
       {"\"a\"", "holds only 4"}},
      {"unknown dtype, begin after end", one("F6_E9", "[1]", "[4,0]", 4), {"\"a\"", "end before they begin"}},
      {"unknown dtype, product overflows", one("F6_E9", "[4294967296,4294967296]", "[0,4]", 4), {"63 bits"}},
      {"unknown dtype, overlap",
       safetensors_file("{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "X", "[1]", "[2,6]") + "}", 6),
       {"\"b\"", "overlaps"}},
      {"unsupported dtype, wrong size", one("I64", "[2]", "[0,8]", 8), {"\"a\"", "I64", "needs 16"}},
      {"half a byte", one("F4", "[3]", "[0,2]", 2), {"\"a\"", "F4"}},
      {"dtype is a number",
       safetensors_file(R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4),
       {"\"a\"", "7"}},
      {"dtype in lower case of no known width is kept to its range", one("f32", "[1]", "[0,5]", 4), {"only 4"}},
      {"endless dtype", one(std::string(100, 'F'), "[1]", "[0,4]", 4), {"100 bytes"}},
  };
}

std::vector<Refusal> structure_refusals() {
  const std::string a = entry("a", "F32", "[1]", "[0,4]");
  return {
      {"name twice", safetensors_file("{" + a + "," + a + "}", 4), {"\"a\"", "twice"}},
      {"name twice, both empty",
       safetensors_file("{" + entry("e", "F32", "[0]", "[0,0]") + "," + entry("e", "F32", "[0]", "[0,0]") + "}", 0),
       {"\"e\"", "twice"}},
      {"name twice by an escape",
       safetensors_file("{" + a + "," + entry("\\u0061", "F32", "[1]", "[4,8]") + "}", 8),
       {"twice"}},
      {"field twice",
       safetensors_file(R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4),
       {"\"shape\"", "twice"}},
      {"unknown field",
       safetensors_file(R"({"a":{"dtype":"F32","shape":[1],"sparse":{},"data_offsets":[0,4]}})", 4),
       {"\"sparse\""}},
      {"no dtype", safetensors_file(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4), {"\"a\"", "lacks its dtype"}},
      {"no shape", safetensors_file(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4), {"lacks its shape"}},
      {"no offsets", safetensors_file(R"({"a":{"dtype":"F32","shape":[1]}})", 4), {"lacks its data_offsets"}},
      {"tensor is a list", safetensors_file(R"({"a":[0,4]})", 4), {"\"a\"", "not an object"}},
      {"tensor is null", safetensors_file(R"({"a":null})", 4), {"\"a\"", "not an object"}},
      {"metadata twice", safetensors_file(R"({"__metadata__":{},"__metadata__":{}})", 0), {"__metadata__ twice"}},
      {"metadata key twice", safetensors_file(R"({"__metadata__":{"k":"1","k":"2"}})", 0), {"\"k\" twice"}},
      {"metadata holds a number", safetensors_file(R"({"__metadata__":{"k":1}})", 0), {"\"k\"", "not a text"}},
      {"metadata nests", safetensors_file(R"({"__metadata__":{"k":{}}})", 0), {"\"k\"", "an object"}},
      {"metadata is a list", safetensors_file(R"({"__metadata__":[]})", 0), {"__metadata__", "a list"}},
      {"not JSON", safetensors_file("{\"a\" 1}", 0), {"not valid JSON"}},
      {"text after the object", safetensors_file("{} {}", 0), {"not valid JSON"}},
      {"object not closed", safetensors_file("{" + a, 4), {"not valid JSON"}},
      {"bytes that are not UTF-8",
       safetensors_file("{" + entry("\xC3\x28", "F32", "[1]", "[0,4]") + "}", 4),
       {"not valid JSON"}},
      {"NUL hides the rest", safetensors_file("{" + a + "}" + std::string(1, '\0') + "junk", 4), {"NUL byte"}},
      {"deep nesting", safetensors_file("{\"a\":" + std::string(100000, '['), 0), {"\"a\"", "a list"}},
      {"a hostile name is not printed raw",
       safetensors_file("{" + entry("\\u001b[2J\\u0007", "F32", "[1]", "[0,8]") + "}", 4),
       {"\\x1b[2J\\x07"}},
  };
}

std::vector<Refusal> length_refusals() {
  return {
      {"empty", "", {"an empty file"}},
      {"seven bytes", "1234567", {"7 bytes"}},
      {"only a length", u64(2), {"8 bytes"}},
      {"length beyond the file", u64(100) + "{}", {"100 bytes", "holds only 2"}},
      {"length 2^63", u64(uint64_t{1} << 63) + "{}", {"9223372036854775808", "limit"}},
      {"length 2^64-1", u64(~uint64_t{0}) + "{}", {"18446744073709551615", "limit"}},
      {"length of 100 MB and one", u64(100'000'001) + "{}", {"100000001", "limit"}},
      {"length 0", u64(0) + "{}", {}},
      {"header begins with a space", u64(3) + " {}", {}},
      {"header is a list", u64(2) + "[]", {}},
  };
}

void check_all(const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    const auto header = parse_safetensors_header(as_bytes(refusal.file), "crafted.safetensors");
    ASSERT_FALSE(header.ok()) << refusal.title;
    EXPECT_EQ(header.error().code, ErrorCode::bad_file) << refusal.title;
    EXPECT_TRUE(error_has(header.error(), {"crafted.safetensors"})) << refusal.title;
    for (const std::string& part : refusal.parts) EXPECT_TRUE(error_has(header.error(), {part})) << refusal.title;
    for (const char c : header.error().format()) EXPECT_TRUE(c == '\n' || c >= 0x20 || c < 0) << refusal.title;
  }
}

TEST(SafetensorsRefusals, Offsets) {
  check_all(offset_refusals());
}
TEST(SafetensorsRefusals, ShapesAndDtypes) {
  check_all(shape_and_dtype_refusals());
}
TEST(SafetensorsRefusals, Structure) {
  check_all(structure_refusals());
}
TEST(SafetensorsRefusals, Lengths) {
  check_all(length_refusals());
}

// Nothing is sized by what a file says: the refusals take less than 10 ms each and next to no memory.
TEST(SafetensorsRefusals, TakeLittleMemoryAndTime) {
  if (!memory_can_be_limited()) GTEST_SKIP() << "address space cannot be limited here";
  std::vector<Refusal> all;
  for (const auto& some : {offset_refusals(), shape_and_dtype_refusals(), structure_refusals(), length_refusals()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  expect_within(Limited::address_space, size_t{1} << 20, 0.010 * static_cast<double>(all.size()), [&all] {
    for (const Refusal& refusal : all) {
      if (parse_safetensors_header(as_bytes(refusal.file), "f").ok()) return false;
    }
    return true;
  });
}

TEST(SafetensorsRefusals, OtherFilesAreNamed) {
  const std::vector<std::pair<std::string, std::string>> files{
      {std::string("GGUF\x03\0\0\0", 8) + std::string(24, '\0'), "GGUF"},
      {"PK\x03\x04" + std::string(40, '\0'), "zip archive"},
      {"\x80\x02}q\x01" + std::string(40, 'x'), "pickle"},
      {"\x89PNG\r\n\x1a\n" + std::string(40, '\0'), "PNG"},
      {"<!DOCTYPE html><html><body>Sign in</body></html>", "web page"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4\n", "git lfs pull"},
      {"{\"_class_name\": \"X\"}", "JSON"},
  };
  for (const auto& [bytes, part] : files) {
    const auto header = parse_safetensors_header(as_bytes(bytes), "m.safetensors");
    ASSERT_FALSE(header.ok()) << part;
    EXPECT_TRUE(error_has(header.error(), {"m.safetensors", part}));
  }
}

TEST(SafetensorsRefusals, TheFileIsNamedAndClosed) {
  const TempFolder folder;
  const auto cut = SafetensorsFile::open(write_file(folder / "cut.safetensors", one("F32", "[16]", "[0,64]", 63)));
  ASSERT_FALSE(cut.ok());
  EXPECT_TRUE(error_has(cut.error(), {"cut.safetensors", "\"a\"", "[0,64]", "63"}));
  const auto missing = SafetensorsFile::open(folder / "none.safetensors");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::io);
  EXPECT_TRUE(error_has(missing.error(), {"none.safetensors"}));
  EXPECT_EQ(SafetensorsFile::open(folder.path()).error().code, ErrorCode::io);
}

// A header of many tiny entries costs memory in proportion, and a count above the limit is refused.
TEST(SafetensorsRefusals, TooManyTensors) {
  std::string header = "{";
  for (size_t i = 0; i <= kMaxSafetensorsTensors; ++i) {
    header += (i > 0 ? "," : "") + entry(std::to_string(i), "F32", "[0]", "[0,0]");
  }
  const std::string file = safetensors_file(header + "}", 0);
  const auto parsed = parse_safetensors_header(as_bytes(file), "many.safetensors");
  ASSERT_FALSE(parsed.ok());
  EXPECT_TRUE(error_has(parsed.error(), {"262144"}));
}

}  // namespace
}  // namespace chiaro
