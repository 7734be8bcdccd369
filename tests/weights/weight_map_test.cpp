// The map of a component's tensors: views, renames, shapes, and an exact account of what was not used.
#include "weights/weight_map.h"

#include <array>

#include "weights/crafted.h"

namespace chiaro {
namespace {

using testing::entry;
using testing::error_has;
using testing::safetensors_file;
using testing::TempFolder;
using testing::write_file;
using Strings = std::vector<std::string>;

TensorDataPtr zeros(std::string name, const Shape& shape, DType dtype = DType::f32) {
  const std::vector<float> values(static_cast<size_t>(element_count(shape)));
  return make_tensor(std::move(name), dtype, shape, values);
}

WeightMap map_of(std::initializer_list<TensorDataPtr> tensors) {
  WeightMap map;
  for (const TensorDataPtr& t : tensors) EXPECT_TRUE(map.add(t, "m.safetensors").ok());
  return map;
}

TEST(WeightMap, FindTakeAndReport) {
  const WeightMap map = map_of({zeros("b", {3}), zeros("a", {2, 4}), zeros("c", {1})});
  EXPECT_EQ(map.size(), 3u);
  EXPECT_EQ(map.names(), (Strings{"a", "b", "c"}));
  EXPECT_TRUE(map.has("a"));
  EXPECT_EQ(map.find("d"), nullptr);
  EXPECT_EQ(map.report().unused, (Strings{"a", "b", "c"}));  // finding is not using
  const auto a = map.take("a", {2, 4});
  ASSERT_TRUE(a.ok());
  EXPECT_EQ((*a).get(), map.find("a").get());
  EXPECT_TRUE(map.ignore("b"));
  EXPECT_FALSE(map.ignore("d"));
  const WeightReport report = map.report();
  EXPECT_EQ(report.unused, Strings{"c"});
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.text(), "1 unused tensor: \"c\"");
  ASSERT_TRUE(map.take("c", {1}).ok());
  EXPECT_EQ(map.report().text(), "");
}

TEST(WeightMap, MissingAndMisshaped) {
  const WeightMap map = map_of({zeros("unet.w", {320, 4})});
  const WeightMap unet = map.with_prefix("unet.");
  const auto missing = unet.take("x", {1});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::bad_file);
  EXPECT_TRUE(error_has(missing.error(), {"\"unet.x\"", "m.safetensors"}));
  const auto wrong = unet.take("w", {320, 8});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::shape);
  EXPECT_TRUE(error_has(wrong.error(), {"\"unet.w\"", "[320,4]", "[320,8]", "m.safetensors"}));
  const WeightReport report = map.report();
  EXPECT_EQ(report.missing, Strings{"unet.x"});
  EXPECT_EQ(report.misshaped, Strings{"\"unet.w\" [320,4] where [320,8] is needed"});
  EXPECT_TRUE(report.unused.empty());
  EXPECT_FALSE(report.complete());
  EXPECT_EQ(report.text(),
            "1 missing tensor: \"unet.x\"\n"
            "1 wrongly shaped tensor: \"unet.w\" [320,4] where [320,8] is needed");
}

TEST(WeightMap, OnesWhereverTheyStand) {
  const WeightMap map =
      map_of({zeros("conv", {8, 4, 1, 1}), zeros("linear", {8, 4}), zeros("one", {1}), zeros("none", {})});
  const auto linear = map.take("conv", {8, 4});
  ASSERT_TRUE(linear.ok());
  EXPECT_EQ((*linear)->desc, dense(DType::f32, {8, 4}));
  EXPECT_EQ((*linear)->bytes, map.find("conv")->bytes);
  EXPECT_EQ((*linear)->owner, map.find("conv")->owner);
  EXPECT_EQ(map.find("conv")->desc, dense(DType::f32, {8, 4, 1, 1}));
  EXPECT_EQ((*map.take("linear", {8, 4, 1, 1}))->desc, dense(DType::f32, {8, 4, 1, 1}));
  EXPECT_TRUE(map.take("one", {}).ok());
  EXPECT_TRUE(map.take("none", {1, 1}).ok());
  for (const Shape& shape : {Shape{1, 8, 4}, Shape{8, 1, 4}, Shape{1, 8, 1, 4, 1}}) {
    const auto taken = map.take("linear", shape);
    ASSERT_TRUE(taken.ok()) << shape.text();
    EXPECT_EQ((*taken)->desc, dense(DType::f32, shape));
  }
  for (const Shape& shape : {Shape{4, 8}, Shape{1, 4, 8}, Shape{32}, Shape{8, 4, 1, 3}, Shape{8}, Shape{1}, Shape{}}) {
    EXPECT_FALSE(map.take("linear", shape).ok()) << shape.text();
  }
}

TEST(WeightMap, Optional) {
  const WeightMap map = map_of({zeros("bias", {4})});
  EXPECT_NE(map.take_optional("bias", {4}).value(), nullptr);
  EXPECT_EQ(map.take_optional("other", {4}).value(), nullptr);
  EXPECT_FALSE(map.take_optional("bias", {5}).ok());
  EXPECT_TRUE(map.report().missing.empty());
}

TEST(WeightMap, PrefixesShareTheRecord) {
  const WeightMap map =
      map_of({zeros("first.a.w", {1}), zeros("first.b", {1}), zeros("firs", {1}), zeros("firsu", {1})});
  const WeightMap first = map.with_prefix("first.");
  EXPECT_EQ(first.names(), (Strings{"a.w", "b"}));
  EXPECT_EQ(first.with_prefix("a.").names(), Strings{"w"});
  EXPECT_TRUE(first.with_prefix("a.").take("w", {1}).ok());
  EXPECT_EQ(map.with_prefix("second.").size(), 0u);
  EXPECT_EQ(map.with_prefix("").size(), 4u);
  EXPECT_EQ(map.report().unused, (Strings{"firs", "first.b", "firsu"}));
  EXPECT_EQ(first.report().unused, map.report().unused);
}

TEST(WeightMap, Renaming) {
  const WeightMap map = map_of({zeros("in.0.weight", {1}), zeros("out.0.weight", {2}), zeros("ema.decay", {1})});
  const auto renamed = map.renamed([](std::string_view name) -> std::optional<std::string> {
    if (name.starts_with("in.")) return "down" + std::string(name.substr(2));
    if (name.starts_with("out.")) return "an.up" + std::string(name.substr(3));
    return std::nullopt;
  });
  ASSERT_TRUE(renamed.ok());
  EXPECT_EQ(renamed->names(), (Strings{"an.up.0.weight", "down.0.weight"}));
  EXPECT_EQ((*renamed->take("down.0.weight", {1}))->name, "in.0.weight");
  EXPECT_EQ(map.report().unused, (Strings{"ema.decay", "out.0.weight"}));
  const auto clash = map.renamed([](std::string_view name) -> std::optional<std::string> {
    return name == "ema.decay" ? std::nullopt : std::optional<std::string>("w");
  });
  ASSERT_FALSE(clash.ok());
  EXPECT_TRUE(error_has(clash.error(), {"\"w\"", "\"in.0.weight\"", "\"out.0.weight\""}));
}

TEST(WeightMap, FilesThatHoldATensorTwice) {
  const TempFolder folder;
  const auto make = [&](const char* file, const std::string& first, std::string_view dtype, std::string_view offsets,
                        size_t n) {
    auto opened = SafetensorsFile::open(
        write_file(folder / file, safetensors_file("{" + entry(first, dtype, "[1]", offsets) + "}", n)));
    EXPECT_TRUE(opened.ok());
    return std::move(opened).value();
  };
  WeightMap map;
  ASSERT_TRUE(map.add(make("1.safetensors", "a", "F32", "[0,4]", 4)).ok());
  ASSERT_TRUE(map.add(make("2.safetensors", "b", "F16", "[0,2]", 2)).ok());
  ASSERT_TRUE(map.add(make("3.safetensors", "c", "I64", "[0,8]", 8)).ok());
  for (const char* name : {"a", "c"}) {
    const Status twice = map.add(make("4.safetensors", name, "F32", "[0,4]", 4));
    ASSERT_FALSE(twice.ok());
    EXPECT_TRUE(error_has(twice.error(),
                          {name, name == std::string("a") ? "1.safetensors" : "3.safetensors", "4.safetensors"}));
  }
  EXPECT_EQ(map.size(), 2u);
}

TEST(WeightMap, UnusableTensors) {
  const TempFolder folder;
  const std::string header = "{" + entry("m.ids", "I64", "[1]", "[0,8]") + "," + entry("m.w", "X9", "[1]", "[8,12]") +
                             "," + entry("m.ok", "F32", "[1]", "[12,16]") + "}";
  const auto file = SafetensorsFile::open(write_file(folder / "f.safetensors", safetensors_file(header, 16)));
  ASSERT_TRUE(file.ok());
  WeightMap map;
  ASSERT_TRUE(map.add(*file).ok());
  const WeightMap view = map.with_prefix("m.");
  EXPECT_EQ(view.names(), Strings{"ok"});
  ASSERT_EQ(view.skipped().size(), 2u);
  EXPECT_EQ(view.skipped()[1].name, "w");
  EXPECT_EQ(map.report().text(),
            "1 unused tensor: \"m.ok\"\n"
            "2 unusable tensors: \"m.ids\" (unsupported dtype I64), \"m.w\" (unknown dtype \"X9\")");
  // Needed but not usable is an error of its own, under whatever name the view gives it, also where it is optional.
  const auto renamed = view.renamed([](std::string_view name) { return "new." + std::string(name); });
  ASSERT_TRUE(renamed.ok());
  for (const auto& taken : {view.take("w", {1}), renamed->take("new.w", {1}), renamed->take_optional("new.w", {1})}) {
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().code, ErrorCode::unsupported);
    EXPECT_TRUE(error_has(taken.error(), {"\"m.w\"", "unknown dtype \"X9\"", "f.safetensors"}));
  }
  EXPECT_TRUE(map.ignore("m.ids"));
  EXPECT_EQ(map.report().skipped.size(), 1u);
}

// FP8 weights that come with a scale are wrong without it: loading them alone must not pass in silence.
TEST(WeightMap, ScalesOfFp8Weights) {
  const WeightMap map = map_of({zeros("a.weight", {2, 2}, DType::f8_e4m3), zeros("a.scale_weight", {1}),
                                zeros("b.weight", {2, 2}, DType::f8_e5m2), zeros("b.weight_scale", {2}),
                                zeros("c.weight", {2, 2}, DType::f8_e4m3), zeros("c.scale_weight", {0}),
                                zeros("d.weight", {2, 2}, DType::f8_e4m3), zeros("orphan.scale_weight", {1})});
  for (const char* name : {"a.weight", "b.weight", "c.weight", "d.weight"}) ASSERT_TRUE(map.take(name, {2, 2}).ok());
  EXPECT_EQ(map.report().unscaled, (Strings{"a.weight", "b.weight"}));
  EXPECT_FALSE(map.report().complete());
  EXPECT_EQ(map.take_scale("a.weight")->name, "a.scale_weight");
  EXPECT_EQ(map.take_scale("b.weight")->name, "b.weight_scale");
  EXPECT_EQ(map.take_scale("c.weight"), nullptr);
  EXPECT_EQ(map.take_scale("d.weight"), nullptr);
  EXPECT_TRUE(map.report().complete());
  EXPECT_EQ(map.report().unused, Strings{"orphan.scale_weight"});
  EXPECT_EQ(map.report().orphans, Strings{"orphan.scale_weight"});
  EXPECT_EQ(map.report().text(),
            "1 scale without its weight: \"orphan.scale_weight\"\n1 unused tensor: \"orphan.scale_weight\"");
}

TEST(WeightMap, OrphansOfBothSpellings) {
  const WeightMap map =
      map_of({zeros("a.weight_scale", {1}), zeros("b.scale_weight", {2}), zeros("c.weight_scale", {1}),
              zeros("c.weight", {1}, DType::f8_e4m3), zeros("d.in_proj_weight_scale", {1})});
  EXPECT_EQ(map.report().orphans, (Strings{"a.weight_scale", "b.scale_weight", "d.in_proj_weight_scale"}));
}

TEST(WeightMap, Int8NeedsItsScale) {
  const WeightMap map = map_of(
      {zeros("a.weight", {2, 2}, DType::i8), zeros("b.weight", {2, 2}, DType::i8), zeros("b.weight_scale", {2, 1})});
  const auto alone = map.take("a.weight", {2, 2});
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().code, ErrorCode::unsupported);
  EXPECT_TRUE(error_has(alone.error(), {"\"a.weight\"", "INT8", "no scale"}));
  ASSERT_TRUE(map.take("b.weight", {2, 2}).ok());
  EXPECT_EQ(map.report().unscaled, Strings{"b.weight"});
  EXPECT_NE(map.take_scale("b.weight"), nullptr);
  EXPECT_TRUE(map.report().complete());
}

TEST(WeightMap, SplittingIntoParts) {
  std::vector<float> numbers(12);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const WeightMap file = map_of({make_tensor("l.fused_weight", DType::f16, {6, 2}, numbers), zeros("l.fused_bias", {6}),
                                 zeros("l.fused_weight_scale", {}), zeros("l.other", {7})});
  const auto parts_of = [](std::string_view name) -> Strings {
    if (!name.starts_with("fused_")) return {};
    const std::string end(name.substr(6));
    return {"q." + end, "k." + end, "v." + end};
  };
  const auto apart = file.with_prefix("l.").split(parts_of);
  ASSERT_TRUE(apart.ok()) << apart.error().format();
  EXPECT_EQ(apart->names(), (Strings{"k.bias", "k.weight", "k.weight_scale", "other", "q.bias", "q.weight",
                                     "q.weight_scale", "v.bias", "v.weight", "v.weight_scale"}));
  const auto k = apart->take("k.weight", {2, 2});
  ASSERT_TRUE(k.ok());
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(load_element(DType::f16, (*k)->bytes, i), static_cast<double>(4 + i));
  EXPECT_EQ(file.report().unused, (Strings{"l.fused_bias", "l.fused_weight_scale", "l.other"}));
  EXPECT_NE(apart->take_scale("v.weight"), nullptr);
  EXPECT_EQ(file.report().unused, (Strings{"l.fused_bias", "l.other"}));
  EXPECT_FALSE(apart->take("v.weight", {3, 2}).ok());
  EXPECT_TRUE(error_has(apart->take("v.none", {1}).error(), {"\"l.v.none\""}));
}

TEST(WeightMap, PartsMustDivide) {
  const auto thirds = [](std::string_view) { return Strings{"a", "b", "c"}; };
  const auto uneven = map_of({zeros("w", {7, 2})}).split(thirds);
  ASSERT_FALSE(uneven.ok());
  EXPECT_EQ(uneven.error().code, ErrorCode::shape);
  EXPECT_TRUE(error_has(uneven.error(), {"\"w\"", "[7,2]", "multiple of 3"}));
  EXPECT_FALSE(map_of({zeros("w", {3}), zeros("x", {3})}).split(thirds).ok());  // two tensors for one name
}

TEST(WeightMap, ReportsCountAndNameFive) {
  WeightMap map;
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(map.add(zeros("t" + std::to_string(i), {1}), "f").ok());
  EXPECT_EQ(map.report().text(), "9 unused tensors: \"t0\", \"t1\", \"t2\", \"t3\", \"t4\" and 4 more");
  EXPECT_FALSE(map.add(zeros("t3", {1}), "g").ok());
}

}  // namespace
}  // namespace chiaro
