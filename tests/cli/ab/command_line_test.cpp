// Commands as text.
#include "ab/command_line.h"

#include <gtest/gtest.h>

namespace chiaro::ab {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text) {
  const auto words = split_command(text);
  return words.ok() ? *words : Words{"error: " + words.error().what};
}

TEST(SplitCommand, BlanksQuotesAndBackslashes) {
  EXPECT_EQ(split("a b  c\t d\n"), (Words{"a", "b", "c", "d"}));
  EXPECT_EQ(split("  x -p 'a red apple' -o out.png"), (Words{"x", "-p", "a red apple", "-o", "out.png"}));
  EXPECT_EQ(split(R"(x "a \"b\" \\ \n $HOME" 'it\n "s" \')"), (Words{"x", R"(a "b" \ \n $HOME)", R"(it\n "s" \)"}));
  EXPECT_EQ(split(R"(a\ b \'c \| \\)"), (Words{"a b", "'c", "|", "\\"}));
  EXPECT_EQ(split("--key='two words'more \"\" ''"), (Words{"--key=two wordsmore", "", ""}));
  EXPECT_EQ(split("weight:*=cpu&x ~ $(x) `y`"), (Words{"weight:*=cpu&x", "~", "$(x)", "`y`"}));
  EXPECT_EQ(split("caf\xc3\xa9 '\xe7\x8c\xab \xe7\x8c\xab'"), (Words{"caf\xc3\xa9", "\xe7\x8c\xab \xe7\x8c\xab"}));
}

TEST(SplitCommand, Refusals) {
  EXPECT_EQ(split(""), Words{"error: a command is empty"});
  EXPECT_EQ(split(" \t"), Words{"error: a command is empty"});
  for (const char* open : {"a 'b", "a \"b", "\"a\\\"", "it's"})
    EXPECT_EQ(split(open), Words{"error: a command has an open quote"});
  for (const char* shell : {"a | b", "a > b", "a && b", "a ; b", "a 2>&1", "a & b"}) {
    EXPECT_EQ(split(shell), Words{"error: a command needs a shell"}) << shell;
  }
  EXPECT_EQ(split("grep '|' \">\""), (Words{"grep", "|", ">"}));
}

TEST(WordsOf, TheOutputIsPutIn) {
  const auto words = [](const CommandText& command) { return *words_of(command, "/t m/it's.png"); };
  EXPECT_EQ(words({.text = "x -o {out}"}), (Words{"x", "-o", "/t m/it's.png"}));
  EXPECT_EQ(words({.text = "x --o={out} {out}"}), (Words{"x", "--o=/t m/it's.png", "/t m/it's.png"}));
  EXPECT_EQ(words({.text = "x", .output_flag = "-o"}), (Words{"x", "-o", "/t m/it's.png"}));
  EXPECT_EQ(words({.text = "x > {out}", .shell = true}), (Words{"/bin/sh", "-c", "x > '/t m/it'\\''s.png'"}));
  EXPECT_EQ(words({.text = "x", .shell = true, .output_flag = "-o"}),
            (Words{"/bin/sh", "-c", "x -o '/t m/it'\\''s.png'"}));
  EXPECT_FALSE(words_of({.text = "  ", .shell = true}, "o").ok());
  EXPECT_TRUE(names_output({.text = "x {out}"}));
  EXPECT_TRUE(names_output({.text = "x", .output_flag = "-o"}));
  EXPECT_FALSE(names_output({.text = "x -o out.png"}));
}

}  // namespace
}  // namespace chiaro::ab
