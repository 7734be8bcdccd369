// Prompt syntax: weights, escapes, BREAK, malformed text, and LoRA tags.
#include "text/prompt.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "text/decimal.h"

namespace chiaro {
namespace {

// "text@weight" per part, "|" for BREAK.
std::string shown(std::string_view text) {
  std::string out;
  for (const PromptPart& part : parse_prompt(text, PromptPolicy::weights).parts) {
    if (!out.empty()) out += ' ';
    out += part.kind == PromptPart::Kind::chunk_break ? "|" : fmt::format("{{{}}}@{:.4g}", part.text, part.weight);
  }
  return out;
}

TEST(PromptWeights, Brackets) {
  EXPECT_EQ(shown("a cat"), "{a cat}@1");
  EXPECT_EQ(shown(""), "");
  EXPECT_EQ(shown("a (red) cat"), "{a }@1 {red}@1.1 { cat}@1");
  EXPECT_EQ(shown("a ((red)) cat"), "{a }@1 {red}@1.21 { cat}@1");
  EXPECT_EQ(shown("a [red] cat"), "{a }@1 {red}@0.9091 { cat}@1");
  EXPECT_EQ(shown("[[red]]"), "{red}@0.8264");
  EXPECT_EQ(shown("([red])"), "{red}@1");
  EXPECT_EQ(shown("a (red:1.3) cat"), "{a }@1 {red}@1.3 { cat}@1");
  EXPECT_EQ(shown("(red : 1.3 )"), "{red }@1.3");
  EXPECT_EQ(shown("(red:.5)(blue:2.)(x:+1.5)(y:-0.5)(z:0)"), "{red}@0.5 {blue}@2 {x}@1.5 {y}@-0.5 {z}@0");
  EXPECT_EQ(shown("(a (b:1.5) c:0.5)"), "{a }@0.5 {b}@0.75 { c}@0.5");
  EXPECT_EQ(shown("((((deep:1.2))))"), "{deep}@1.597");
  EXPECT_EQ(shown("(one)(two)"), "{onetwo}@1.1");               // equal weights join
  EXPECT_EQ(shown("(a [b) c]"), "{a }@1.1 {b}@1 { c}@0.9091");  // the kinds may cross
  EXPECT_EQ(shown("(time 12:30:1.2)"), "{time 12:30}@1.2");
}

TEST(PromptWeights, Escapes) {
  EXPECT_EQ(shown(R"(a \(red\) \[x\] cat)"), "{a (red) [x] cat}@1");
  EXPECT_EQ(shown(R"((smile \(:\):1.2))"), "{smile (:)}@1.2");
  EXPECT_EQ(shown(R"(a\\(b))"), R"({a\}@1 {b}@1.1)");
  EXPECT_EQ(shown(R"(a\b\)"), "{ab}@1");  // escapes nothing: it vanishes
}

TEST(PromptWeights, MalformedStaysText) {
  EXPECT_EQ(shown("a) b] c"), "{a) b] c}@1");
  EXPECT_EQ(shown("a (red"), "{a }@1 {red}@1.1");  // reaches to the end
  EXPECT_EQ(shown("a [red (b"), "{a }@1 {red }@0.9091 {b}@1");
  EXPECT_EQ(shown("(red]"), "{red]}@1.1");
  EXPECT_EQ(shown("red:1.3)"), "{red:1.3)}@1");
  EXPECT_EQ(shown("(red:)"), "{red:}@1.1");
  EXPECT_EQ(shown("(red:1.2.3)"), "{red:1.2.3}@1.1");
  EXPECT_EQ(shown("(red:--1)"), "{red:--1}@1.1");
  EXPECT_EQ(shown("(red:1e9)"), "{red:1e9}@1.1");
  EXPECT_EQ(shown("(red:.)"), "{red:.}@1.1");
  EXPECT_EQ(shown("(red:nan)"), "{red:nan}@1.1");
  EXPECT_EQ(shown("(red:1.3"), "{red:1.3}@1.1");
  EXPECT_EQ(shown("(red:" + std::string(400, '9') + ")"), "{red:" + std::string(400, '9') + "}@1.1");
  EXPECT_EQ(shown("()[]"), "");
  EXPECT_EQ(shown("(:1.3)"), "");
  EXPECT_EQ(shown("(((((((:"), "{:}@1.949");
}

TEST(PromptWeights, ProductsStayFinite) {
  const std::string nested = std::string(20000, '(') + "x" + std::string(20000, ')') + " y";
  EXPECT_EQ(shown(nested), "{x}@1e+06 { y}@1");
  EXPECT_EQ(shown(std::string(20000, '[') + "x"), "{x}@0");
  EXPECT_EQ(shown(std::string(20000, '(') + "(x:0)"), "{x}@0");
  EXPECT_EQ(shown("(((x:1000000):1000000):-1)"), "{x}@-1e+06");
}

// Multiplying a range of parts at every closing bracket would be quadratic here.
TEST(PromptWeights, ManyBracketsTakeLinearTime) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "(a[b";
  EXPECT_GT(parse_prompt(text, PromptPolicy::weights).parts.size(), 10000U);
  for (int i = 0; i < 200000; ++i) text += ":0.5)";
  EXPECT_EQ(parse_prompt(text, PromptPolicy::weights).parts.front().weight, 0.5F);
}

TEST(PromptBreak, Positions) {
  EXPECT_EQ(shown("a cat BREAK a dog"), "{a cat}@1 | {a dog}@1");
  EXPECT_EQ(shown("BREAK"), "|");
  EXPECT_EQ(shown("BREAK BREAK"), "| |");
  EXPECT_EQ(shown("a\nBREAK\n\n"), "{a}@1 |");
  EXPECT_EQ(shown("a,BREAK,b"), "{a,}@1 | {,b}@1");
  EXPECT_EQ(shown("a BREAKS, OUTBREAK, BREAK_1, éBREAK BREAKé break"),
            "{a BREAKS, OUTBREAK, BREAK_1, éBREAK BREAKé break}@1");
  EXPECT_EQ(shown("(a BREAK b)"), "{a}@1.1 | {b}@1.1");
  EXPECT_EQ(shown("(BREAK:1.2)"), "|");
  EXPECT_EQ(shown("BREAKBREAK BREAK"), "{BREAKBREAK}@1 |");
}

TEST(PromptLora, TagsLeaveTheText) {
  Prompt prompt =
      parse_prompt("a cat <lora:my style v1.5:0.8>, (red <lora:x:1.2:0.4>)<lora:plain>", PromptPolicy::weights);
  EXPECT_EQ(prompt.loras, (std::vector<LoraTag>{{"my style v1.5", 0.8, 0.8}, {"x", 1.2, 0.4}, {"plain", 1.0, 1.0}}));
  ASSERT_EQ(prompt.parts.size(), 2U);
  EXPECT_EQ(prompt.parts[0].text, "a cat , ");
  EXPECT_EQ(prompt.parts[1].text, "red ");
  prompt = parse_prompt("<lora:a:te=0.5:unet=0.25><lora:b:unet=2><lora: c : -1 >", PromptPolicy::literal);
  EXPECT_EQ(prompt.loras, (std::vector<LoraTag>{{"a", 0.5, 0.25}, {"b", 1.0, 2.0}, {"c", -1.0, -1.0}}));
  EXPECT_TRUE(prompt.parts.empty());
  EXPECT_TRUE(prompt.refused.empty());
}

TEST(PromptLora, RefusedNamesAndWeights) {
  const std::vector<std::string> bad = {"../secret",
                                        "a/b",
                                        "/etc/passwd",
                                        "a\\b",
                                        "C:\\x",
                                        "..",
                                        ".",
                                        "a..b",
                                        "",
                                        "  ",
                                        std::string("a\0b", 3),
                                        "a\nb",
                                        "\xff",
                                        ":1",
                                        "x:y",
                                        "x:1:2:3",
                                        "x:1.2.3",
                                        "x:",
                                        "x:te=1:te=2",
                                        "x:1e3",
                                        std::string(256, 'n')};
  for (const std::string& fields : bad) {
    const Prompt prompt = parse_prompt("a <lora:" + fields + "> b", PromptPolicy::weights);
    EXPECT_TRUE(prompt.loras.empty()) << fields;
    ASSERT_EQ(prompt.refused.size(), 1U) << fields;
    EXPECT_FALSE(prompt.refused[0].reason.empty());
    EXPECT_EQ(prompt.refused[0].text.substr(0, 6), "<lora:");
    ASSERT_EQ(prompt.parts.size(), 1U);
    EXPECT_EQ(prompt.parts[0].text, "a  b");
  }
  EXPECT_EQ(parse_prompt("<lora:../x:1>", PromptPolicy::weights).refused[0].reason,
            "a name may not hold a path separator");
}

TEST(PromptLora, WhatIsNoTagIsText) {
  EXPECT_EQ(shown("a <lora:x b"), "{a <lora:x b}@1");
  EXPECT_EQ(shown("a <Lora:x> <lyco:y> <3 > b"), "{a <Lora:x> <lyco:y> <3 > b}@1");
}

TEST(PromptNotices, EditingIsNotRead) {
  EXPECT_EQ(parse_prompt("a [cat:dog:0.5]", PromptPolicy::weights).notices.size(), 1U);
  EXPECT_EQ(parse_prompt("a [cat:10]", PromptPolicy::weights).notices.size(), 1U);
  EXPECT_TRUE(parse_prompt("a [cat: dog] (cat:1.5) [x]", PromptPolicy::weights).notices.empty());
}

// Case 38: prose with parentheses reaches a language model unchanged, and CLIP in weighted parts.
struct RecordingEncoder {
  PromptPolicy policy;
  std::string read;
  std::vector<std::string> notices;
  void encode(std::string_view text) {
    const Prompt prompt = parse_prompt(text, policy);
    for (const PromptPart& part : prompt.parts) {
      read += policy == PromptPolicy::literal ? part.text : fmt::format("[{} {:.3g}]", part.text, part.weight);
    }
    notices = prompt.notices;
  }
};

TEST(Case38, WeightsAreAPolicyOfTheEncoder) {
  const std::string text = "x (y (z)), w";
  RecordingEncoder language_model{PromptPolicy::literal, {}, {}};
  language_model.encode(text);
  EXPECT_EQ(language_model.read, text);
  EXPECT_EQ(language_model.notices.size(), 1U);
  RecordingEncoder clip{PromptPolicy::weights, {}, {}};
  clip.encode(text);
  EXPECT_EQ(clip.read, "[x  1][y  1.1][z 1.21][, w 1]");
  EXPECT_TRUE(clip.notices.empty());

  RecordingEncoder other{PromptPolicy::literal, {}, {}};
  other.encode("A \\ (cat:1.3) BREAK [dog]\xff:");
  EXPECT_EQ(other.read, "A \\ (cat:1.3) BREAK [dog]\xff:");
  RecordingEncoder plain{PromptPolicy::literal, {}, {}};
  plain.encode("a cat: 12:30, and a dog");
  EXPECT_TRUE(plain.notices.empty());
}

TEST(Decimal, Values) {
  EXPECT_EQ(parse_decimal("1.3"), 1.3);
  EXPECT_EQ(parse_decimal("-.5"), -0.5);
  EXPECT_EQ(parse_decimal("+2."), 2.0);
  EXPECT_EQ(parse_decimal("1000000"), 1e6);
  EXPECT_EQ(parse_decimal("0.100000000000000000000000000000000001"), 0.1);
  EXPECT_EQ(parse_decimal("000000000000000000000000000001.5"), 1.5);
  for (const char* text :
       {"", ".", "-", "+-1", "1 ", "1e3", "0x1", "1,5", "inf", "1000001", "1..2", "999999999999999999999"}) {
    EXPECT_FALSE(parse_decimal(text).has_value()) << text;
  }
}

RC_GTEST_PROP(PromptProperty, AnyBytesParse, (const std::vector<std::uint8_t>& raw)) {
  constexpr std::string_view kPool = "()[]:\\ab,.0159+-BREAK <lora:>\xc3\xa9\xff\n";
  std::string text;
  for (const std::uint8_t value : raw) text += kPool[value % kPool.size()];
  const Prompt prompt = parse_prompt(text, PromptPolicy::weights);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < prompt.parts.size(); ++i) {
    const PromptPart& part = prompt.parts[i];
    RC_ASSERT(std::isfinite(part.weight));
    RC_ASSERT(part.text.empty() == (part.kind == PromptPart::Kind::chunk_break));
    if (i > 0 && part.kind == PromptPart::Kind::text && prompt.parts[i - 1].kind == PromptPart::Kind::text) {
      RC_ASSERT(part.weight != prompt.parts[i - 1].weight);
    }
    bytes += part.text.size();
  }
  RC_ASSERT(bytes <= text.size());
  std::string literal;
  for (const PromptPart& part : parse_prompt(text, PromptPolicy::literal).parts) literal += part.text;
  Prompt tags;
  RC_ASSERT(literal == extract_lora_tags(text, tags));
}

// Escaping every special character is a way to say any text (without BREAK, tags and a lone backslash's loss).
RC_GTEST_PROP(PromptProperty, EscapedTextIsItself, (const std::vector<std::uint8_t>& raw)) {
  constexpr std::string_view kPool = "()[]:\\ab,.015";
  std::string text;
  std::string escaped;
  for (const std::uint8_t value : raw) {
    const char c = kPool[value % kPool.size()];
    text += c;
    if (std::string_view("()[]\\").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  const Prompt prompt = parse_prompt(escaped, PromptPolicy::weights);
  RC_ASSERT(prompt.parts.size() == (text.empty() ? 0U : 1U));
  if (!text.empty()) RC_ASSERT(prompt.parts[0].text == text);
}

}  // namespace
}  // namespace chiaro
