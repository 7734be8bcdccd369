// XXH64 against the values that its specification's reference implementation gives.
#include "core/xxh64.h"

#include <gtest/gtest.h>

#include <string>

namespace chiaro {
namespace {

TEST(Xxh64, GivesTheReferenceValues) {
  EXPECT_EQ(xxh64(""), 0xEF46DB3751D8E999U);
  EXPECT_EQ(xxh64("a"), 0xD24EC4F1A98C6E5BU);
  EXPECT_EQ(xxh64("abc"), 0x44BC2CF5AD770999U);
  EXPECT_EQ(xxh64("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1U);  // one stripe and a tail of 7
}

// Every length from none to three stripes, every byte and the seed count.
TEST(Xxh64, EveryByteCounts) {
  for (size_t n = 1; n < 100; ++n) {
    std::string text(n, 'x');
    const uint64_t hash = xxh64(text);
    EXPECT_NE(xxh64(text, 1), hash);
    EXPECT_NE(xxh64(std::string_view(text).substr(1)), hash);
    for (size_t i = 0; i < n; ++i) {
      text[i] = 'y';
      EXPECT_NE(xxh64(text), hash) << i << " of " << n;
      text[i] = 'x';
    }
  }
}

}  // namespace
}  // namespace chiaro
