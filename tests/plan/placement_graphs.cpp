#include "placement_graphs.h"

#include <gtest/gtest.h>

#include "random_case.h"

namespace chiaro::testing {

SmallGraph mission_graph(const std::string& w) {
  std::string source = "%1 = input \"w\" : f32[2,8]\n%2 = silu(%1)  # w\n";
  if (w == "weight") source = "%2 = weight \"w\" : f32[2,8]\n";
  if (w == "input") source = "%2 = input \"w\" : f32[2,8]\n";
  return {"mission, w is " + w, "%0 = input \"x\" : f32[2,8]\n" + source +
                                    "%3 = custom(%0) {fn=\"twice\"}  # y\n%4 = mul_(%3, %2)  # z\noutput \"z\" %4\n"};
}

namespace {

// Writes into rows, columns and slices, and in place.
void add_writes(std::vector<SmallGraph>& all) {
  all.push_back({"a fill and a write into its rows", R"(
%0 = input "x" : f32[8,4]
%1 = input "rows" : f32[2,4]
%2 = custom(%0) {fn="identity"}  # fill
%3 = slice(%2) {axis=0, start=2, end=4}
%4 = write(%3, %1)  # set
%5 = after(%2, %4)
%6 = add(%5, %0)  # add
output "y" %6
output "filled" %5
)"});
  all.push_back({"add in place", R"(
%0 = input "x" : f32[4,4]
%1 = weight "b" : f32[4]
%2 = custom(%0) {fn="negate"}  # a
%3 = add_(%2, %1)  # b
%4 = silu(%3)  # c
%5 = add_(%3, %4)  # d
output "y" %5
output "c" %4
)"});
  all.push_back({"a write after slices were read", R"(
%0 = input "x" : f32[3,4]
%1 = weight "w" : f32[12,4]
%2 = matmul(%0, %1)  # qkv
%3 = slice(%2) {axis=1, start=0, end=4}
%4 = slice(%2) {axis=1, start=4, end=8}
%5 = slice(%2) {axis=1, start=8}
%6 = custom(%3, %5) {fn="sum"}  # sum
%7 = write(%4, %6)  # write
%8 = after(%5, %7)
%9 = mul(%7, %8)  # mul
%10 = add(%4, %9)  # old
output "y" %9
output "all" %10
)"});
  all.push_back({"a column, and a permuted view", R"(
%0 = input "x" : f32[8,16]
%1 = input "column" : f32[8,1]
%2 = scale(%0) {scale=0.5}  # a
%3 = slice(%2) {axis=1, start=3, end=4}
%4 = write(%3, %1)  # b
%5 = after(%2, %4)
%6 = permute(%5) {perm=[1,0]}
%7 = slice(%6) {axis=0, start=1, end=16, step=2}
%8 = silu_(%7)  # c
%9 = after(%2, %8)
%10 = custom(%9) {fn="twice"}  # d
output "y" %10
output "a" %9
)"});
}

// Old versions, and a residual block.
void add_others(std::vector<SmallGraph>& all) {
  all.push_back({"old versions", R"(
%0 = input "x" : f32[6,4]
%1 = sigmoid(%0)  # a
%2 = slice(%1) {axis=0, start=0, end=3}
%3 = mul_(%2, %2)  # b
%4 = after(%1, %3)
%5 = add(%1, %4)  # c
%6 = silu_(%4)  # d
%7 = sub(%5, %6)  # e
output "y" %7
output "first" %1
output "second" %3
)"});
  all.push_back({"group norm, affine and SiLU in place, convolution", R"(
%0 = input "x" : f32[2,3,3,4]
%1 = weight "gamma" : f32[4]
%2 = weight "beta" : f32[4]
%3 = weight "conv" : f32[4,4,3,3]
%4 = group_norm(%0, _, _) {groups=2}  # norm
%5 = mul_(%4, %1)  # mul
%6 = add_(%5, %2)  # add
%7 = silu_(%6)  # silu
%8 = conv2d(%7, %3, _, _) {pad_top=1, pad_bottom=1, pad_left=1, pad_right=1}  # conv
%9 = add(%0, %8)  # residual
output "y" %9
)"});
}

}  // namespace

std::vector<SmallGraph> small_graphs() {
  std::vector<SmallGraph> all{mission_graph("weight"), mission_graph("input"), mission_graph("computed")};
  add_writes(all);
  add_others(all);
  return all;
}

Graph parse_small(const SmallGraph& graph) {
  auto parsed = parse_case(graph.text);
  EXPECT_TRUE(parsed.ok()) << graph.name << ": " << parsed.error().format();
  return parsed.ok() ? std::move(parsed->graph) : Graph();
}

const Node* find_node(const ExecutionPlan& plan, const std::string& label) {
  for (const Node& node : plan.graph.nodes()) {
    if (node.label == label && node.op->kind != OpKind::view) return &node;
  }
  return nullptr;
}

Result<Planned> plan_on(const Graph& graph, std::vector<std::string> devices, const PlanOptions& options,
                        std::vector<std::string> disabled) {
  EngineOptions engine_options;
  engine_options.threads = 1;
  engine_options.devices = std::move(devices);
  engine_options.disabled_ops = std::move(disabled);
  Planned planned;
  CHIARO_ASSIGN(planned.engine, Engine::create(std::move(engine_options)));
  CHIARO_ASSIGN(planned.plan, make_plan(graph, planned.engine->devices(), options));
  return planned;
}

PortBytes run_and_compare(const Planned& planned, const std::string& what) {
  const PortBytes inputs = named_inputs(*planned.plan);
  const auto single = run_on_one_device(*planned.plan, inputs);
  EXPECT_TRUE(single.ok()) << what << ": " << single.error().format();
  if (!single.ok()) return {};
  for (const bool serial : {true, false}) {
    const auto got = run_plan(*planned.engine, planned.plan, inputs, serial);
    EXPECT_TRUE(got.ok()) << what << ": " << got.error().format();
    if (!got.ok()) continue;
    EXPECT_EQ(*got, *single) << what << (serial ? ", serial" : "") << "\n" << planned.plan->text();
  }
  return *single;
}

}  // namespace chiaro::testing
