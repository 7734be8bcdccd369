// Hostile cache files: whatever the bytes, no crash, and what is accepted lies inside the file.
#include "runtime/weight_cache_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>

#include "core/xxh64.h"

namespace chiaro::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> filled(int64_t bytes, int seed) {
  std::vector<std::byte> form(static_cast<size_t>(bytes));
  for (size_t i = 0; i < form.size(); ++i) form[i] = static_cast<std::byte>(i * 31 + static_cast<size_t>(seed));
  return form;
}

const std::vector<PackedFormKey>& keys() {
  static const std::vector<PackedFormKey> all{{0, "f16[4,8]", "panels of 16 columns f16 4x8 by 8,1", 128},
                                              {64, "f32[3]", "rows", 12},
                                              {4096, "f16[9,9]", "panels of 32 columns f16 9x9 by 9,1", 9000}};
  return all;
}

std::vector<std::byte> small_file() {
  const fs::path path = fs::path(CHIARO_TMP_DIR) / ("weight-cache-file-" + std::to_string(::getpid()));
  auto writer = WeightCacheWriter::create(path, {"/models/a.safetensors", 12345, 678, 9}, keys()).value();
  for (size_t i = 0; i < keys().size(); ++i) {
    EXPECT_TRUE(writer.append(filled(keys()[i].bytes, static_cast<int>(i))).ok());
  }
  EXPECT_TRUE(writer.commit().ok());
  EXPECT_EQ(static_cast<uintmax_t>(writer.file_bytes()), fs::file_size(path));
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
  in.close();
  fs::remove(path);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

int64_t number_at(std::span<const std::byte> file, size_t at) {
  int64_t value = 0;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

// Makes the checks of the header and the directory right again, as an enemy would.
void reseal(std::vector<std::byte>& file) {
  if (file.size() < 72) return;
  uint64_t hash = xxh64(std::span(file).first(56));
  std::memcpy(file.data() + 56, &hash, sizeof hash);
  const int64_t at = number_at(file, 24);
  if (at < 64 || at > static_cast<int64_t>(file.size()) - 8) return;
  const size_t begin = static_cast<size_t>(at);
  hash = xxh64(std::span(file).subspan(begin, file.size() - 8 - begin));
  std::memcpy(file.data() + file.size() - 8, &hash, sizeof hash);
}

// Accepted or not, nothing outside the file.
bool accepted(std::span<const std::byte> file) {
  const auto directory = parse_weight_cache(file, "f");
  if (!directory.ok()) {
    EXPECT_EQ(directory.error().code, ErrorCode::bad_file);
    EXPECT_FALSE(directory.error().why.empty());
    EXPECT_LT(directory.error().format().size(), 1000U);
    return false;
  }
  int64_t behind = 64;
  for (const CachedForm& form : directory->forms) {
    EXPECT_GE(form.at, behind);
    EXPECT_GE(form.key.bytes, 0);
    EXPECT_LE(form.at + form.key.bytes, static_cast<int64_t>(file.size()));
    (void)sample_hash(file.subspan(static_cast<size_t>(form.at), static_cast<size_t>(form.key.bytes)));
    behind = form.at + form.key.bytes;
  }
  return true;
}

TEST(WeightCacheFile, SaysWhatWasWritten) {
  const std::vector<std::byte> file = small_file();
  const WeightCacheDirectory read = parse_weight_cache(file, "f").value();
  EXPECT_EQ(read.weights, (WeightFileIdentity{"/models/a.safetensors", 12345, 678, 9}));
  ASSERT_EQ(read.forms.size(), keys().size());
  for (size_t i = 0; i < keys().size(); ++i) {
    const CachedForm& form = read.forms[i];
    EXPECT_EQ(form.key, keys()[i]);
    EXPECT_EQ(form.at % kPackedFormAlignment, 0);
    const auto want = filled(form.key.bytes, static_cast<int>(i));
    EXPECT_EQ(std::memcmp(file.data() + form.at, want.data(), want.size()), 0);
    EXPECT_EQ(form.sample, sample_hash(want));
  }
}

TEST(WeightCacheFile, EveryCutAndEveryFlippedByteOfWhatIsCheckedIsRefused) {
  const std::vector<std::byte> file = small_file();
  for (size_t n = 0; n < file.size(); ++n) ASSERT_FALSE(accepted(std::span(file).first(n))) << n;
  auto longer = file;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(accepted(longer));
  const auto directory = static_cast<size_t>(number_at(file, 24));
  for (size_t i = 0; i < file.size(); ++i) {
    if (i >= 64 && i < directory) continue;
    for (const int bit : {0, 3, 7}) {
      auto bad = file;
      bad[i] ^= static_cast<std::byte>(1 << bit);
      ASSERT_FALSE(accepted(bad)) << "byte " << i;
    }
  }
}

// Checks that are right again do not help: numbers in the header and the directory are held to the file.
TEST(WeightCacheFile, HostileNumbersReachNothingOutside) {
  const std::vector<std::byte> file = small_file();
  const auto directory = static_cast<size_t>(number_at(file, 24));
  const int64_t values[] = {0, -1, 1, 63, 4095, 1 << 20, INT64_MAX, INT64_MIN, INT64_MAX - 4095, 0x7FFFFFFF00000000};
  for (size_t at = 16; at + 8 <= file.size(); at += at < 56 ? 8 : 1) {
    if (at >= 56 && at < directory) at = directory;
    for (const int64_t value : values) {
      auto bad = file;
      std::memcpy(bad.data() + at, &value, sizeof value);
      reseal(bad);
      (void)accepted(bad);
    }
  }
}

TEST(WeightCacheFile, RandomChangesWithRightChecksNeverCrash) {
  const std::vector<std::byte> file = small_file();
  const auto directory = static_cast<size_t>(number_at(file, 24));
  std::mt19937 random(1);
  int taken = 0;
  for (int round = 0; round < 4000; ++round) {
    auto bad = file;
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      const size_t in_directory = directory + random() % (bad.size() - 8 - directory);
      bad[random() % 8 == 0 ? 16 + random() % 40 : in_directory] = static_cast<std::byte>(random());
    }
    if (random() % 16 == 0) bad.resize(random() % bad.size());
    reseal(bad);
    taken += accepted(bad) ? 1 : 0;
  }
  EXPECT_GT(taken, 20) << "the changes never got past the checks";
}

// A form that was not written, whole or in the middle, shows in its sample.
TEST(WeightCacheFile, HolesShowInTheSample) {
  for (const int64_t bytes : {1, 4096, 65536, 65537, 1 << 20}) {
    const auto form = filled(bytes, 5);
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, bytes}, {bytes / 2, bytes}, {0, (bytes + 1) / 2}}) {
      auto hole = form;
      std::fill(hole.begin() + begin, hole.begin() + end, std::byte{0});
      EXPECT_NE(sample_hash(hole), sample_hash(form)) << bytes << " from " << begin;
    }
  }
}

TEST(WeightCacheFile, FormsOutOfTurnAreOurOwnMistake) {
  const fs::path path = fs::path(CHIARO_TMP_DIR) / ("weight-cache-turn-" + std::to_string(::getpid()));
  auto writer = WeightCacheWriter::create(path, {}, keys()).value();
  EXPECT_EQ(writer.commit().error().code, ErrorCode::internal);
  EXPECT_EQ(writer.append(filled(5, 0)).error().code, ErrorCode::internal);
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace chiaro::testing
