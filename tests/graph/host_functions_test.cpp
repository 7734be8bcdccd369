// Graph text with host functions and with data: names are resolved by lookups, and printed as they were written.
#include "graph/host_functions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/tensor.h"
#include "graph/text.h"
#include "ops/catalogue.h"

namespace chiaro {
namespace {

const GraphNames kNames{.op = find_op, .function = find_host_function};

std::vector<float> run(std::string_view name, std::vector<std::vector<float>> inputs) {
  const auto function = find_host_function(name).value();
  std::vector<TensorDesc> descs;
  std::vector<HostTensor> tensors;
  for (std::vector<float>& x : inputs) {
    descs.push_back(dense(DType::f32, {static_cast<int64_t>(x.size())}));
    tensors.push_back({descs.back(), reinterpret_cast<std::byte*>(x.data())});
  }
  std::vector<float> out(static_cast<size_t>(function->infer(descs).value().count()));
  EXPECT_TRUE(function->run(tensors, {descs[0], reinterpret_cast<std::byte*>(out.data())}).ok());
  return out;
}

TEST(HostFunctions, ComputeWhatTheirNamesSay) {
  using Values = std::vector<float>;
  EXPECT_EQ(run("identity", {{1, -2, 0.5F}}), (Values{1, -2, 0.5F}));
  EXPECT_EQ(run("negate", {{1, -2}}), (Values{-1, 2}));
  EXPECT_EQ(run("twice", {{1, -2}}), (Values{2, -4}));
  EXPECT_EQ(run("sum", {{1, -2}, {10, 20}, {100, 200}}), (Values{111, 218}));
  EXPECT_TRUE(std::signbit(run("identity", {{-0.0F}})[0]));
}

// A column of a wider tensor, in half precision: strides and types are followed.
TEST(HostFunctions, FollowStridesAndTypes) {
  const auto twice = find_host_function("twice").value();
  const TensorDataPtr x = make_tensor("x", DType::f16, {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  TensorDesc column = dense(DType::f16, {2});
  column.strides = {3};
  std::vector<std::byte> out(4);
  auto* start = const_cast<std::byte*>(x->bytes) + 2;
  ASSERT_TRUE(twice->run(std::vector<HostTensor>{{column, start}}, {dense(DType::f16, {2}), out.data()}).ok());
  EXPECT_EQ(load_element(DType::f16, out.data(), 0), 4);
  EXPECT_EQ(load_element(DType::f16, out.data(), 1), 10);
}

TEST(HostFunctions, TextRoundTrip) {
  const auto graph = parse_graph(
      "%0 = input \"x\" : f32[2,3]\n%1 = custom(%0) {fn=\"twice\"}\n%2 = custom(%0, %1) {fn=\"sum\"}\n"
      "output \"y\" %2\n",
      kNames);
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  const std::string once = print_graph(*graph);
  EXPECT_NE(once.find("%2 = custom(%0, %1) {fn=\"sum\"} : f32[2,3]"), std::string::npos) << once;
  EXPECT_EQ(print_graph(parse_graph(once, kNames).value()), once);
}

TEST(HostFunctions, MistakesSayWhatThereIs) {
  const std::pair<const char*, const char*> cases[] = {
      {"%1 = custom(%0) {fn=\"thrice\"}", "identity, negate, twice, sum"},
      {"%1 = custom(%0) {fn=3}", "as its name"},
      {"%1 = custom(%0)", "without a function"},
      {"%1 = custom(%0, %0) {fn=\"twice\"}", "it takes one"},
      {"%9 = input \"z\" : f32[3]\n%1 = custom(%0, %9) {fn=\"sum\"}", "the first input is"},
  };
  for (const auto& [line, says] : cases) {
    const auto graph = parse_graph(std::string("%0 = input \"x\" : f32[2]\n") + line + "\n", kNames);
    ASSERT_FALSE(graph.ok()) << line;
    EXPECT_NE(graph.error().format().find(says), std::string::npos) << graph.error().format();
    EXPECT_NE(graph.error().where.find("line "), std::string::npos) << graph.error().format();
  }
  EXPECT_FALSE(parse_graph("%0 = input \"x\" : f32[2]\n%1 = custom(%0) {fn=\"twice\"}\n", find_op).ok());
}

TEST(GraphText, DataComesFromTheLookup) {
  const TensorDataPtr data = make_tensor("w", DType::f32, {2}, std::vector<float>{3, 4});
  const auto lookup = [&](StorageKind kind, const std::string& name, const TensorDesc& desc) -> Result<TensorDataPtr> {
    EXPECT_EQ(desc.text(), "f32[2]");
    if (kind == StorageKind::constant) return Error{ErrorCode::io, "no constants today", "", "", ""};
    return name == "w" ? data : nullptr;
  };
  const GraphNames names{.op = find_op, .data = lookup};
  const auto graph = parse_graph("%0 = weight \"w\" : f32[2]\n%1 = weight \"v\" : f32[2]\noutput \"y\" %0\n", names);
  ASSERT_TRUE(graph.ok()) << graph.error().format();
  EXPECT_EQ(graph->storage(0).data, data);
  EXPECT_EQ(graph->storage(1).data, nullptr);
  const auto refused = parse_graph("\n%0 = constant \"c\" : f32[2]\n", names);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::io);
  EXPECT_EQ(refused.error().where, "line 2");
}

}  // namespace
}  // namespace chiaro
