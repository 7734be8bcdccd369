// Names and paths that are not plain ASCII.
#include <string>

#include "core/utf8_path.h"
#include "weights/crafted.h"
#include "weights/printable.h"

namespace chiaro {
namespace {

TEST(Utf8Path, RoundTrip) {
  for (const std::string text : {"тест 猫/ü.gguf", "a", "", "v1.0 x/..", "🎨"}) {
    EXPECT_EQ(path_to_utf8(path_from_utf8(text)), text);
  }
}

TEST(Utf8Path, Utf16OfWindows) {
  const std::string text = "тест 猫 ü 🎨";
  const std::u16string wide = u"тест 猫 ü 🎨";
  EXPECT_EQ(utf16_from_utf8(text), wide);
  EXPECT_EQ(utf8_from_utf16(wide), text);
  // The ends of every length, and around the surrogates.
  for (const uint32_t code : {0x1u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD7FFu, 0xE000u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::u16string one;
    if (code < 0x10000) {
      one += static_cast<char16_t>(code);
    } else {
      one += static_cast<char16_t>(0xD800 + ((code - 0x10000) >> 10));
      one += static_cast<char16_t>(0xDC00 + ((code - 0x10000) & 0x3FF));
    }
    const auto utf8 = utf8_from_utf16(one);
    ASSERT_TRUE(utf8.has_value()) << code;
    EXPECT_EQ(utf8->size(), code < 0x80 ? 1u : code < 0x800 ? 2u : code < 0x10000 ? 3u : 4u);
    EXPECT_EQ(utf16_from_utf8(*utf8), one) << code;
  }
}

TEST(Utf8Path, RefusesWhatIsNotWellFormed) {
  const char16_t high = 0xD83C, low = 0xDFA8;
  for (const std::u16string& text : {std::u16string{high}, std::u16string{low}, std::u16string{low, high},
                                     std::u16string{high, u'a'}, std::u16string{high, high, low}}) {
    EXPECT_FALSE(utf8_from_utf16(text).has_value());
  }
  for (const std::string text : {"\x80", "\xC3", "\xC3(", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                                 "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF", "a\xE2\x82"}) {
    EXPECT_FALSE(utf16_from_utf8(text).has_value());
  }
}

TEST(Printable, EscapesAndCuts) {
  EXPECT_EQ(printable("unet.w"), "\"unet.w\"");
  EXPECT_EQ(printable("ü 猫 🎨"), "\"ü 猫 🎨\"");
  EXPECT_EQ(printable("a\"b\\c\n\x1b\x7f"), "\"a\\x22b\\x5cc\\x0a\\x1b\\x7f\"");
  EXPECT_EQ(printable("\xC3("), "\"\\xc3(\"");
  EXPECT_EQ(printable("\xC2\x9B"), "\"\\xc2\\x9b\"");  // a C1 control drives terminals too
  EXPECT_EQ(printable("\xED\xA0\x80"), "\"\\xed\\xa0\\x80\"");
  const std::string cut = printable(std::string(1000, 'x'));
  EXPECT_LT(cut.size(), 130u);
  EXPECT_TRUE(cut.ends_with("...\""));
  std::string cats;
  for (int i = 0; i < 100; ++i) cats += "猫";
  const std::string shown = printable(cats);
  EXPECT_EQ(shown.find("\\x"), std::string::npos);  // never cut inside a character
  EXPECT_EQ(printable_list(std::vector<std::string>{"a", "b", "c"}, 2), "\"a\", \"b\" and 1 more");
  EXPECT_EQ(printable_list(std::vector<std::string>{}), "");
}

}  // namespace
}  // namespace chiaro
