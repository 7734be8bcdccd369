// Hostile and damaged GGUF files: each is refused with the names and places that tell what is wrong, before anything is
// sized by what the file says.
#include <ctime>

#include "sanitized.h"
#include "weights/gguf.h"
#include "weights/gguf_crafted.h"
#include "weights/gguf_header.h"
#include "weights/limited_memory.h"

#if CHIARO_SANITIZED
// Case 1: under ASan, which needs the address space for itself, no allocation may pass 256 MiB.
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=256";
}
#endif

namespace chiaro {
namespace {

using testing::as_bytes;
using testing::CraftedGguf;
using testing::error_has;
using testing::expect_within;
using testing::Limited;
using testing::memory_can_be_limited;
using testing::small_gguf;

struct Refusal {
  std::string title;
  std::string file;
  std::vector<std::string> parts;  // in the error
};

constexpr uint64_t kHuge = uint64_t{1} << 60;

CraftedGguf keys(uint64_t count) {
  CraftedGguf file;
  file.start(0, count);
  return file;
}

std::string one(const std::vector<uint64_t>& dims, uint32_t type, uint64_t offset, size_t data) {
  CraftedGguf file;
  return file.start(1, 0).tensor("a", dims, type, offset).data(data).bytes();
}

// Case 1: 200 bytes, one tensor, any count of dimensions.
std::string with_rank(uint32_t rank) {
  CraftedGguf file;
  file.start(1, 0).text("a").number(rank);
  while (file.bytes().size() < 200) file.number(uint64_t{1});
  return file.bytes();
}

std::vector<Refusal> start_refusals() {
  return {
      {"empty", "", {"an empty file"}},
      {"a picture", "\x89PNG\r\n\x1a\n", {"a PNG picture"}},
      {"magic alone", "GGUF", {"version"}},
      {"version 0", CraftedGguf().start(0, 0, 0).bytes(), {"version 0"}},
      {"version 1", CraftedGguf().start(0, 0, 1).bytes(), {"version 1", "32 bits"}},
      {"version 4", CraftedGguf().start(0, 0, 4).bytes(), {"version 4"}},
      {"big-endian", CraftedGguf().start(0, 0, 3u << 24).bytes(), {"big-endian"}},
      {"cut in the counts", CraftedGguf().start(0, 0).cut(1), {"counts", "byte 16"}},
      {"2^60 keys", CraftedGguf().start(0, kHuge).data(100).bytes(), {"1152921504606846976", "bytes left"}},
      {"2^60 tensors", CraftedGguf().start(kHuge, 0).data(100).bytes(), {"1152921504606846976 tensors", "limit"}},
      {"too many tensors for the file", CraftedGguf().start(100000, 0).data(100).bytes(), {"100000", "bytes left"}},
      {"one tensor more than there is",
       CraftedGguf().start(2, 0).tensor("a", {4}, 0, 0).data(16).bytes(),
       {"67305985 dimensions"}},
  };
}

std::vector<Refusal> metadata_refusals() {
  return {
      {"key of 2^30 bytes", keys(1).number(uint64_t{1} << 30).data(100).bytes(), {"key 0", "1073741824 bytes"}},
      {"key of 2^64 - 1 bytes", keys(1).number(~uint64_t{0}).data(100).bytes(), {"18446744073709551615"}},
      {"long key", keys(1).text(std::string(70000, 'k')).data(99).bytes(), {"70000 bytes", "limit is 65535"}},
      {"text of 2^30 bytes",
       keys(1).scalar("k", GgufType::text, uint64_t{1} << 30).data(100).bytes(),
       {"\"k\"", "1073741824", "left"}},
      {"list of 2^40",
       keys(1).list("k", GgufType::u8, uint64_t{1} << 40).data(100).bytes(),
       {"\"k\"", "1099511627776"}},
      {"list whose size wraps", keys(1).list("k", GgufType::u64, uint64_t{1} << 61).data(100).bytes(), {"\"k\""}},
      {"list of 2^40 texts", keys(1).list("k", GgufType::text, uint64_t{1} << 40).data(100).bytes(), {"\"k\""}},
      {"list of lists", keys(1).list("k", GgufType::array, 1).data(100).bytes(), {"\"k\"", "list of lists"}},
      {"list of an unknown type", keys(1).list("k", static_cast<GgufType>(13), 1).data(9).bytes(), {"unknown type 13"}},
      {"text in a list too long",
       keys(1).list("k", GgufType::text, 2).text("x").number(kHuge).data(9).bytes(),
       {"text 1", "\"k\""}},
      {"text in a list missing", keys(1).list("k", GgufType::text, 2).text("123456789").bytes(), {"text 1", "\"k\""}},
      {"unknown type", keys(1).key("k", static_cast<GgufType>(77)).data(9).bytes(), {"\"k\"", "unknown type 77"}},
      {"boolean of 2", keys(1).scalar("k", GgufType::boolean, uint8_t{2}).data(9).bytes(), {"\"k\"", "value 2"}},
      {"boolean of 2 in a list", keys(1).list("k", GgufType::boolean, 2).raw("\1\2").bytes(), {"\"k\"", "boolean"}},
      {"key twice", keys(2).scalar("k", GgufType::u32, 1u).scalar("k", GgufType::u32, 1u).bytes(), {"\"k\"", "twice"}},
      {"cut in a value", keys(1).scalar("k", GgufType::u64, uint64_t{1}).cut(1), {"\"k\"", "7 bytes are left"}},
      {"a hostile key is not printed raw",
       keys(1).key("\x1b[2J\a", static_cast<GgufType>(99)).data(9).bytes(),
       {"\\x1b[2J\\x07"}},
  };
}

std::string aligned(uint32_t alignment) {
  CraftedGguf file;
  return file.start(1, 1).scalar("general.alignment", GgufType::u32, alignment).tensor("a", {4}, 0, 0).data(80).bytes();
}

std::vector<Refusal> alignment_refusals() {
  const auto key = [] {
    CraftedGguf file;
    return file.start(1, 1);
  };
  const auto after = [](CraftedGguf file) { return file.tensor("a", {4}, 0, 0).data(80).bytes(); };
  CraftedGguf off;
  off.start(1, 1).scalar("general.alignment", GgufType::u32, 64u).tensor("a", {4}, 0, 1).data(80, 64);
  return {
      {"alignment 0", aligned(0), {"general.alignment is 0", "power of two"}},
      {"alignment 3", aligned(3), {"general.alignment is 3"}},
      {"alignment 2^20", aligned(1u << 20), {"general.alignment is 1048576", "65536"}},
      {"alignment 2^31", aligned(1u << 31), {"general.alignment is 2147483648"}},
      {"alignment of 64 bits", after(key().scalar("general.alignment", GgufType::u64, uint64_t{32})), {"u64, not u32"}},
      {"alignment as text", after(key().key("general.alignment", GgufType::text).text("32")), {"text, not u32"}},
      {"offset off by one", off.bytes(), {"\"a\"", "offset 1 ", "multiple of the alignment, 64"}},
      {"data would begin behind the end", aligned(65536), {"begin at byte 65536", "the file holds only"}},
  };
}

std::vector<Refusal> tensor_refusals() {
  CraftedGguf twice, overlap, gap, same, inside;
  twice.start(2, 0).tensor("a", {4}, 0, 0).tensor("a", {4}, 0, 32).data(48);
  overlap.start(2, 0).tensor("a", {16}, 0, 0).tensor("b", {16}, 0, 32).data(96);
  same.start(2, 0).tensor("a", {16}, 0, 0).tensor("b", {16}, 0, 0).data(96);
  gap.start(2, 0).tensor("a", {4}, 0, 0).tensor("b", {4}, 0, 64).data(80);
  inside.start(2, 0).tensor("a", {16}, 0, 0).tensor("new", {16}, 99, 32).data(96);
  return {
      {"0 dimensions of another tensor's bytes", with_rank(0), {"\"a\"", "offset 4294967296"}},
      {"6 dimensions", with_rank(6), {"\"a\"", "6 dimensions", "limit is 5"}},
      {"9 dimensions", with_rank(9), {"\"a\"", "9 dimensions"}},
      {"2^32 - 1 dimensions", with_rank(0xFFFFFFFFu), {"\"a\"", "4294967295 dimensions"}},
      {"5 dimensions of another tensor's bytes", with_rank(5), {"\"a\""}},
      {"dimension 2^63", one({uint64_t{1} << 63}, 0, 0, 16), {"\"a\"", "63 bits"}},
      {"product wraps to 0", one({uint64_t{1} << 32, uint64_t{1} << 32}, 0, 0, 16), {"63 bits"}},
      {"product wraps to 4", one({(uint64_t{1} << 62) + 1, 4}, 0, 0, 16), {"63 bits"}},
      {"zero hides a huge stride", one({uint64_t{1} << 40, uint64_t{1} << 40, 0}, 0, 0, 0), {"63 bits"}},
      {"unknown type, huge shape", one({uint64_t{1} << 40, uint64_t{1} << 40}, 99, 0, 0), {"63 bits"}},
      {"larger than the file", one({1000, 1000}, 0, 0, 4), {"\"a\"", "4000000 bytes", "holds only 4"}},
      {"offset behind the end", one({1}, 0, 64, 4), {"\"a\"", "offset 64", "holds only 4"}},
      {"offset 2^63", one({1}, 0, uint64_t{1} << 63, 4), {"\"a\"", "9223372036854775808"}},
      {"unknown type, offset 2^63", one({1}, 99, uint64_t{1} << 63, 4), {"\"a\"", "9223372036854775808"}},
      {"offset + size wraps", one({64}, 0, ~uint64_t{31}, 4), {"\"a\"", "18446744073709551584"}},
      {"cut by one byte", small_gguf().cut(1), {"\"a\"", "16 bytes", "15 bytes of data"}},
      {"data missing", small_gguf().cut(16 + 1), {"begin at byte"}},
      {"cut in the offset", CraftedGguf().start(1, 0).tensor("abcde", {4}, 0, 0).cut(1), {"\"abcde\"", "offset"}},
      {"name of 2^40 bytes", CraftedGguf().start(1, 0).number(uint64_t{1} << 40).data(60).bytes(), {"tensor 0"}},
      {"name twice", twice.bytes(), {"\"a\"", "twice"}},
      {"overlap", overlap.bytes(), {"\"b\"", "offset 32", "overlaps", "\"a\""}},
      {"the same place twice", same.bytes(), {"overlaps"}},
      {"unknown type inside another tensor", inside.bytes(), {"\"new\"", "overlaps"}},
      {"gap", gap.bytes(), {"\"b\"", "offset 64", "gap", "ends at 16"}},
  };
}

// Case 11: blocks that do not divide a row; and shapes that a converter claims to have changed.
std::vector<Refusal> shape_refusals() {
  const auto original = [](uint64_t count, std::initializer_list<int32_t> dims) {
    CraftedGguf file;
    file.start(1, 1).list("comfy.gguf.orig_shape.a", GgufType::i32, count);
    for (const int32_t d : dims) file.number(d);
    return file.tensor("a", {256}, 12, 0).data(144).bytes();
  };
  CraftedGguf text;
  text.start(1, 1).key("comfy.gguf.orig_shape.a", GgufType::text).text("[256]").tensor("a", {256}, 12, 0).data(144);
  return {
      {"Q4_K of rows of 320", one({320, 2}, 12, 0, 360), {"\"a\"", "[2,320]", "320", "256 (Q4_K)"}},
      {"Q4_K of rows of 128 that make whole blocks", one({128, 2}, 12, 0, 144), {"\"a\"", "128"}},
      {"Q8_0 of rows of 9", one({9, 32}, 8, 0, 306), {"\"a\"", "32 (Q8_0)"}},
      {"Q8_0 scalar", one({}, 8, 0, 34), {"\"a\"", "rows of 1 "}},
      {"IQ2_XS of rows of 64", one({64}, 17, 0, 74), {"\"a\"", "IQ2_XS"}},
      {"original shape of another size", original(2, {16, 15}), {"orig_shape.a", "[16,15]", "256"}},
      {"original shape with a negative size", original(2, {-16, -16}), {"orig_shape.a"}},
      {"original shape of 7 dimensions", original(7, {1, 1, 1, 1, 1, 1, 256}), {"orig_shape.a", "7"}},
      {"original shape that wraps", original(5, {65536, 65536, 65536, 65536, 256}), {"orig_shape.a"}},
      {"original shape as text", text.bytes(), {"orig_shape.a", "no shape"}},
  };
}

std::vector<Refusal> all_refusals() {
  std::vector<Refusal> all;
  for (const auto& some :
       {start_refusals(), metadata_refusals(), alignment_refusals(), tensor_refusals(), shape_refusals()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST(GgufRefusals, EachNamesWhatIsWrong) {
  for (const Refusal& refusal : all_refusals()) {
    SCOPED_TRACE(refusal.title);
    const auto header = parse_gguf_header(as_bytes(refusal.file), "dir/f.gguf");
    if (header.ok()) {
      ADD_FAILURE() << "accepted";
      continue;
    }
    EXPECT_TRUE(header.error().code == ErrorCode::bad_file || header.error().code == ErrorCode::unsupported);
    for (const std::string& part : refusal.parts) EXPECT_TRUE(error_has(header.error(), {part, "dir/f.gguf"}));
    EXPECT_LT(header.error().format().size(), 2000u);
  }
}

TEST(GgufRefusals, EveryCutOfAValidFileIsRefused) {
  CraftedGguf file;
  file.start(2, 2)
      .scalar("general.alignment", GgufType::u32, 32u)
      .list("words", GgufType::text, 2)
      .text("one")
      .text("two")
      .tensor("a", {4}, 0, 0)
      .tensor("b", {256}, 12, 32)
      .data(32 + 144);
  ASSERT_TRUE(parse_gguf_header(as_bytes(file.bytes()), "f").ok());
  for (size_t cut = 1; cut <= file.bytes().size(); ++cut) {
    EXPECT_FALSE(parse_gguf_header(as_bytes(file.cut(cut)), "f").ok()) << cut;
  }
}

// Case 4: the refusals above take less than 10 ms each and next to no memory.
TEST(GgufRefusals, NothingIsSizedByWhatTheFileSays) {
  if (!memory_can_be_limited()) GTEST_SKIP() << "address space cannot be limited here";
  const std::vector<Refusal> all = all_refusals();
  expect_within(Limited::address_space, size_t{1} << 20, 0.010 * static_cast<double>(all.size()), [&all] {
    for (const Refusal& refusal : all) {
      if (parse_gguf_header(as_bytes(refusal.file), "f").ok()) return false;
    }
    return true;
  });
}

// Case 4, the other side: processor time, since other work may share the machine.
TEST(GgufRefusals, AGuardThatIsFast) {
  CraftedGguf file;
  file.start(5000, 1).list("tokenizer.ggml.tokens", GgufType::text, 300'000);
  for (int i = 0; i < 300'000; ++i) file.text("token " + std::to_string(i));
  for (uint64_t i = 0; i < 5000; ++i) {
    file.tensor("blk." + std::to_string(i / 10) + ".attn_q.weight." + std::to_string(i), {8, 1}, 0, i * 32);
  }
  file.data(5000 * 32);
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const std::clock_t start = std::clock();
    const auto header = parse_gguf_header(as_bytes(file.bytes()), "f");
    const double took = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    ASSERT_TRUE(header.ok()) << header.error().format();
    EXPECT_EQ(header->entries.size(), 5000u);
    EXPECT_EQ(header->metadata.get_texts("tokenizer.ggml.tokens").value()[299'999], "token 299999");
    best = std::min(best, took);
  }
  std::printf("300,000 texts and 5,000 tensors: %.1f ms of processor time (at most 150)\n", best);
  EXPECT_LT(best, CHIARO_SANITIZED ? 3000 : 150);
}

}  // namespace
}  // namespace chiaro
