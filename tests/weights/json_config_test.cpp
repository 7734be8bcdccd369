// Configs: bounded, strict, typed, and with a record of what was read.
#include "weights/json_config.h"

#include "weights/crafted.h"

namespace chiaro {
namespace {

using testing::error_has;
using testing::TempFolder;
using testing::write_file;
using Strings = std::vector<std::string>;

JsonConfig parsed(std::string_view text) {
  auto config = JsonConfig::parse(text, "unet/config.json");
  EXPECT_TRUE(config.ok()) << config.error().format();
  return std::move(config).value();
}

constexpr std::string_view kConfig = R"({
  "_class_name": "UNet2DConditionModel", "act_fn": "silu", "attention_head_dim": 8, "heads": [5, 10, 20, 20],
  "eps": 1e-05, "whole": 2.0, "center": false, "nothing": null, "types": ["A", "B"], "pair": [null, "x"],
  "betas": [0.5, 1], "mixed": [1, "a"], "big": 18446744073709551615, "small": -9223372036854775808,
  "text_config": {"hidden_size": 192, "deep": {"a": 1, "b": 2}}, "a.b": 1, "a": {"b": 2}
})";

TEST(JsonConfig, TypedGetters) {
  const JsonConfig c = parsed(kConfig);
  EXPECT_EQ(c.get_string("act_fn").value(), "silu");
  EXPECT_EQ(c.get_int("attention_head_dim").value(), 8);
  EXPECT_EQ(c.get_int("small").value(), INT64_MIN);
  EXPECT_EQ(c.get_double("eps").value(), 1e-5);
  EXPECT_EQ(c.get_double("attention_head_dim").value(), 8.0);
  EXPECT_FALSE(c.get_bool("center").value());
  EXPECT_EQ(c.get_int_list("heads").value(), (std::vector<int64_t>{5, 10, 20, 20}));
  EXPECT_EQ(c.get_int_list("attention_head_dim").value(), (std::vector<int64_t>{8}));
  EXPECT_EQ(c.get_double_list("betas").value(), (std::vector<double>{0.5, 1.0}));
  EXPECT_EQ(c.get_string_list("types").value(), (Strings{"A", "B"}));
  EXPECT_EQ(c.get_nullable_string_list("pair").value(), (Strings{"", "x"}));
  EXPECT_EQ(c.child("text_config")->get_int("hidden_size").value(), 192);
  EXPECT_EQ(c.kind("heads"), JsonKind::list);
  EXPECT_EQ(c.kind("nothing"), JsonKind::null);
  EXPECT_EQ(c.kind("none"), JsonKind::missing);
  EXPECT_EQ(c.kind("text_config"), JsonKind::object);
  EXPECT_TRUE(c.has("nothing"));
  EXPECT_FALSE(c.has("none"));
}

TEST(JsonConfig, Defaults) {
  const JsonConfig c = parsed(kConfig);
  EXPECT_EQ(c.get_int("none", 3).value(), 3);
  EXPECT_EQ(c.get_int("nothing", 3).value(), 3);
  EXPECT_EQ(c.get_int("attention_head_dim", 3).value(), 8);
  EXPECT_EQ(c.get_double("none", 0.5).value(), 0.5);
  EXPECT_TRUE(c.get_bool("none", true).value());
  EXPECT_EQ(c.get_string("none", "relu").value(), "relu");
  EXPECT_EQ(c.get_int_list("none", {1}).value(), (std::vector<int64_t>{1}));
  EXPECT_EQ(c.get_double_list("nothing", {}).value(), std::vector<double>{});
  EXPECT_EQ(c.get_string_list("none", {"A"}).value(), Strings{"A"});
  // A default does not excuse a value of the wrong kind.
  EXPECT_FALSE(c.get_int("act_fn", 3).ok());
}

TEST(JsonConfig, ErrorsNameFileAndKey) {
  const JsonConfig c = parsed(kConfig);
  EXPECT_TRUE(error_has(c.get_int("none").error(), {"unet/config.json", "\"none\"", "missing"}));
  EXPECT_TRUE(error_has(c.get_int("act_fn").error(), {"unet/config.json", "\"act_fn\"", "\"silu\"", "whole number"}));
  EXPECT_TRUE(error_has(c.get_int("whole").error(), {"\"whole\"", "2.0"}));
  EXPECT_TRUE(error_has(c.get_int("big").error(), {"\"big\"", "18446744073709551615"}));
  EXPECT_TRUE(error_has(c.get_bool("attention_head_dim").error(), {"true or false"}));
  EXPECT_TRUE(error_has(c.get_string("heads").error(), {"a list of 4"}));
  EXPECT_TRUE(error_has(c.get_string_list("pair").error(), {"\"pair\"", "null"}));
  EXPECT_TRUE(error_has(c.get_int_list("mixed").error(), {"\"mixed\"", "\"a\""}));
  EXPECT_TRUE(error_has(c.child("heads").error(), {"\"heads\"", "an object"}));
  EXPECT_TRUE(error_has(c.child("text_config")->get_int("none").error(), {"\"text_config.none\""}));
  EXPECT_EQ(c.get_int("none").error().code, ErrorCode::bad_file);
}

TEST(JsonConfig, WhatNobodyReadIsListed) {
  const JsonConfig c = parsed(kConfig);
  for (const char* key : {"_class_name", "act_fn", "attention_head_dim", "heads", "eps", "whole", "center", "nothing",
                          "types", "pair", "betas", "mixed", "big", "small"}) {
    c.ignore(key);
  }
  EXPECT_EQ(c.unused_keys(), (Strings{"a", "a.b", "text_config"}));
  EXPECT_EQ(c.get_int("a.b").value(), 1);  // a key with a dot is not the key below another
  EXPECT_TRUE(c.has("text_config"));       // asking whether it is there is not reading it
  const JsonConfig text = c.child("text_config").value();
  EXPECT_EQ(c.unused_keys(), (Strings{"a", "text_config.deep", "text_config.hidden_size"}));
  EXPECT_TRUE(text.get_int("hidden_size").ok());
  EXPECT_TRUE(text.child("deep")->get_int("a").ok());
  EXPECT_EQ(text.unused_keys(), Strings{"text_config.deep.b"});
  EXPECT_EQ(c.child("a")->get_int("b").value(), 2);
  EXPECT_EQ(c.unused_keys(), Strings{"text_config.deep.b"});
}

TEST(JsonConfig, Refusals) {
  const auto nested = [](int levels) {
    std::string text;
    for (int i = 1; i < levels; ++i) text += "{\"a\":";
    text += "{}";
    for (int i = 1; i < levels; ++i) text += "}";
    return text;
  };
  EXPECT_TRUE(JsonConfig::parse(nested(64), "c").ok());
  const std::vector<std::pair<std::string, std::string>> refused{
      {R"({"a":1,"a":2})", "\"a\" twice"},
      {R"({"x":[{"a":1,"\u0061":2}]})", "\"a\" twice"},
      {nested(65), "deeper than 64"},
      {"{\"a\":" + std::string(2'000'000, '['), "deeper than 64"},
      {std::string("{}\0junk", 7), "NUL"},
      {"{} {}", "not valid JSON"},
      {"{\"a\":1,}", "not valid JSON"},
      {"{\"a\":NaN}", "not valid JSON"},
      {"{\"a\":1e999}", "not valid JSON"},
      {"{'a':1}", "not valid JSON"},
      {"{\"a\":\"\xC3\x28\"}", "not valid JSON"},
      {"", "empty"},
      {"[]", "not a JSON object"},
      {"7", "not a JSON object"},
      {"<html></html>", "web page"},
      {"version https://git-lfs.github.com/spec/v1\n", "Git LFS"},
      {"{\"a\":\"" + std::string(4u << 20, 'x') + "\"}", "limit"},
  };
  for (const auto& [text, part] : refused) {
    const auto config = JsonConfig::parse(text, "vae/config.json");
    ASSERT_FALSE(config.ok()) << part;
    EXPECT_EQ(config.error().code, ErrorCode::bad_file);
    EXPECT_TRUE(error_has(config.error(), {"vae/config.json", part}));
  }
}

TEST(JsonConfig, Files) {
  const TempFolder folder("тест 猫");
  const auto config = JsonConfig::open(write_file(folder / "ü.json", "\xEF\xBB\xBF{\"a\": 1}"));
  ASSERT_TRUE(config.ok()) << config.error().format();
  EXPECT_EQ(config->get_int("a").value(), 1);
  EXPECT_TRUE(error_has(config->get_int("b").error(), {"тест 猫/ü.json"}));
  EXPECT_EQ(JsonConfig::open(folder / "none.json").error().code, ErrorCode::io);
}

}  // namespace
}  // namespace chiaro
