// Graph text: printing and parsing are inverse, and hostile text is refused with its line.
#include "graph/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ops/all.h"
#include "ops/catalogue.h"

namespace chiaro {
namespace {

Result<Graph> parse(std::string_view text) {
  return parse_graph(text, find_op);
}

constexpr std::string_view kExample = R"(# a residual block, unfused
%0 = input "x" : f32[1,8,8,32]
%1 = weight "norm.weight" : f16[32]
%2 = group_norm(%0, _, _) {groups=8} : f32[1,8,8,32]  # down.0.norm
%3 = mul_(%2, %1)
%4 = silu_(%3) module="vae" pin="cpu"
%5 = slice(%4) {axis=1, start=2, end=4}
%6 = permute(%5) {perm=[0,2,1,3]} : f32[1,8,2,32]{[2048,32,256,1]}
output "y" %6
output "all" %4
)";

TEST(GraphText, RoundTripIsTheIdentity) {
  const auto graph = parse(kExample);
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  const std::string once = print_graph(*graph);
  const auto again = parse(once);
  ASSERT_TRUE(again.ok()) << again.error().format() << "\n" << once;
  EXPECT_EQ(print_graph(*again), once);
  EXPECT_EQ(graph->nodes().size(), 5U);
  EXPECT_EQ(graph->nodes()[0].label, "down.0.norm");
  EXPECT_EQ(graph->nodes()[2].module, "vae");
  EXPECT_EQ(graph->nodes()[2].pin, "cpu");
  EXPECT_NE(once.find("groups=8"), std::string::npos);
  EXPECT_EQ(once.find("eps="), std::string::npos) << "defaults are left out";
  EXPECT_NE(once.find("group_norm(%0) {"), std::string::npos) << "inputs that are left out at the end, too";
}

TEST(GraphText, MistakesNameTheirLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"%0 = nothing(%1)", "no op"},
      {"%0 = silu(%1)", "not defined"},
      {"%0 = input \"x\" : f33[1]", "no type"},
      {"%0 = input \"x\" : f32[1,2,3,4,5,6,7]", "dimensions"},
      {"%0 = input \"x\" : f32[-1]", "negative"},
      {"%0 = input \"x\" : f32[99999999999,99999999999]", ""},
      {"%0 = input \"x\" : f32[2,2]{[9000000000000000000,1]}", "stride"},
      {"%0 = input \"x\" : f32[4] trailing", "more on the line"},
      {"%0 = input \"x\" : f32[4]\n%0 = silu(%0)", "twice"},
      {"%0 = input \"x\" : f32[4]\n%1 = silu(%0) : f32[5]", "gives"},
      {"%0 = input \"x\" : f32[4]\n%1 = silu(%0) {speed=3}", "speed"},
      {"output \"y\" %3", "not defined"},
      {"%0 = input \"x", "expected"},
      {"%999999999999999999999 = silu(%0)", "whole number"},
  };
  for (const auto& [text, says] : cases) {
    const auto graph = parse(text);
    ASSERT_FALSE(graph.ok()) << text;
    EXPECT_NE(graph.error().format().find(says), std::string::npos) << text << "\n" << graph.error().format();
    EXPECT_NE(graph.error().where.find("line "), std::string::npos) << text;
  }
}

RC_GTEST_PROP(GraphText, AnyDamageIsRefusedOrReadsAsSomething, ()) {
  std::string text(kExample);
  const auto edits = *rc::gen::inRange(1, 6);
  for (int i = 0; i < edits; ++i) {
    const auto at = *rc::gen::inRange<size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0: text[at] = *rc::gen::arbitrary<char>(); break;
      case 1: text.erase(at, *rc::gen::inRange<size_t>(1, 12)); break;
      default:
        text.insert(at, *rc::gen::element<std::string>("9", "%", "[", "]", "{", "\"", "_", ",", "-", "\n"));
        break;
    }
    if (text.empty()) break;
  }
  const auto graph = parse(text);
  if (graph.ok()) RC_ASSERT(print_graph(*parse(print_graph(*graph))) == print_graph(*graph));
}

// Every op of the catalogue prints and parses its attributes.
TEST(GraphText, EveryOpsAttributesReadBack) {
  for (const OpDef* op : op_catalogue()) {
    for (const auto& [name, value] : op->default_attrs) {
      if (std::holds_alternative<std::shared_ptr<const HostFunction>>(value)) continue;  // a function has no text
      EXPECT_TRUE(op->check_attrs({{name, value}}).ok()) << op->name << "." << name;
    }
    EXPECT_FALSE(op->check_attrs({{"no such attribute", int64_t{1}}}).ok()) << op->name;
    EXPECT_FALSE(op->formula.empty()) << op->name;
  }
}

}  // namespace
}  // namespace chiaro
