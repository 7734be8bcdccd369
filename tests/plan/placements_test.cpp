// Who writes where: the mission's case in all its forms, and every placement of small graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "placement_graphs.h"
#include "random_graph_edit.h"

namespace chiaro::testing {
namespace {

const std::string kGpu = "isolated:g";
const std::string kGpuWithoutCustom = "isolated:g,no=custom";

PlanOptions all_on(const std::string& device) {
  PlanOptions options;
  options.placement.modules["all"] = {device};
  return options;
}

Planned planned_or_fail(const Graph& graph, std::vector<std::string> devices, const PlanOptions& options = {},
                        std::vector<std::string> disabled = {}) {
  auto planned = plan_on(graph, std::move(devices), options, std::move(disabled));
  EXPECT_TRUE(planned.ok()) << planned.error().format();
  return planned.ok() ? *planned : Planned{};
}

std::string device_of(const Planned& planned, const std::string& label) {
  const Node* node = find_node(*planned.plan, label);
  return node == nullptr ? "nowhere" : node->device;
}

bool on_copy(const Planned& planned, const std::string& label) {
  const Node* node = find_node(*planned.plan, label);
  return node != nullptr && node->on_copy;
}

// The devices that get a copy of the weights.
std::set<std::string> staged_weights(const ExecutionPlan& plan) {
  std::set<std::string> names;
  for (const PlanStaged& staged : plan.staged) {
    if (staged.region == Region::weight) names.insert(plan.devices[static_cast<size_t>(staged.device)]->traits().name);
  }
  for (const PlanPacked& form : plan.packed) {
    names.insert(plan.devices[static_cast<size_t>(form.device)]->traits().name);
  }
  return names;
}

int copies_back(const ExecutionPlan& plan) {
  return static_cast<int>(
      std::count_if(plan.copies.begin(), plan.copies.end(), [](const PlanCopy& c) { return c.back; }));
}

// z = 2 x w in f32, to the last bit: the doubling is exact.
void expect_product(const Planned& planned, bool w_is_computed) {
  const PortBytes out = run_and_compare(planned, "the mission's case");
  ASSERT_EQ(out.size(), 1U);
  if (w_is_computed) return;
  const PlanPort port{"w", dense(DType::f32, {2, 8}), {}};
  const std::vector<float> x = named_values("x", 16), w = named_values("w", 16);
  const bool w_is_input = planned.plan->inputs.size() == 2;
  for (size_t i = 0; i < 16; ++i) {
    float z = 0;
    std::memcpy(&z, out[0].data() + 4 * i, 4);
    EXPECT_EQ(z, 2 * (2 * x[i]) * (w_is_input ? 2 * w[i] : w[i])) << i;
  }
}

struct Form {
  std::string w;
  PlanOptions options;
};
std::vector<Form> forms() {
  std::vector<Form> all;
  for (const char* w : {"weight", "input", "computed"}) {
    all.push_back({w, {}});
    all.push_back({w, all_on(kGpu)});
    PlanOptions unfused = all_on(kGpu);
    unfused.fuse = false;
    all.push_back({w, unfused});
  }
  PlanOptions by_weight;
  by_weight.placement.weights = {{"w", kGpu}};
  all.push_back({"weight", by_weight});
  return all;
}

TEST(MissionsCase, ZGoesToTheCpuAndWIsCopiedThere) {
  for (const Form& form : forms()) {
    const Planned p = planned_or_fail(parse_small(mission_graph(form.w)), {kGpuWithoutCustom, "cpu"}, form.options);
    ASSERT_TRUE(p.plan);
    EXPECT_EQ(device_of(p, "y"), "cpu") << p.plan->text();
    EXPECT_EQ(device_of(p, "z"), "cpu") << p.plan->text();
    EXPECT_FALSE(on_copy(p, "z"));
    EXPECT_NE(find_node(*p.plan, "z")->moved.find("memory of cpu"), std::string::npos)
        << find_node(*p.plan, "z")->moved;
    EXPECT_EQ(copies_back(*p.plan), 0);
    if (form.w == "computed") {
      EXPECT_EQ(device_of(p, "w"), kGpu);
      ASSERT_EQ(p.plan->copies.size(), 1U) << p.plan->text();  // w, once
      const PlanCopy& copy = p.plan->copies[0];
      EXPECT_EQ(p.plan->graph.nodes()[static_cast<size_t>(p.plan->graph.info(copy.value).producer)].label, "w");
      EXPECT_EQ(copy.end - copy.begin, 64);
    } else {
      EXPECT_TRUE(p.plan->copies.empty()) << p.plan->text();
    }
    EXPECT_EQ(staged_weights(*p.plan), form.w == "weight" ? std::set<std::string>{"cpu"} : std::set<std::string>{});
    expect_product(p, form.w == "computed");
  }
}

TEST(MissionsCase, WhereTheCpuLacksItZRunsOnTheGpuAndIsCopiedBack) {
  for (const Form& form : forms()) {
    const Planned p =
        planned_or_fail(parse_small(mission_graph(form.w)), {kGpuWithoutCustom, "cpu"}, form.options, {"mul_@cpu"});
    ASSERT_TRUE(p.plan);
    EXPECT_EQ(device_of(p, "y"), "cpu") << p.plan->text();
    EXPECT_EQ(device_of(p, "z"), kGpu) << p.plan->text();
    EXPECT_TRUE(on_copy(p, "z"));
    EXPECT_EQ(p.plan->copies.size(), 2U) << p.plan->text();  // y there, z back
    EXPECT_EQ(copies_back(*p.plan), 1);
    EXPECT_TRUE(p.plan->copies.back().back);
    EXPECT_EQ(p.plan->outputs[0].memory.device, 1) << "z is read where y was made";
    expect_product(p, form.w == "computed");
  }
}

TEST(MissionsCase, AHardPinIsMetByACopyBack) {
  for (const char* w : {"weight", "input", "computed"}) {
    const Graph free = parse_small(mission_graph(w));
    GraphEdit edit(free);
    edit.pin.back() = kGpu;  // z
    const Graph graph = edited(free, edit).value();
    for (const bool fuse : {false, true}) {
      PlanOptions options;
      options.fuse = fuse;
      const Planned p = planned_or_fail(graph, {"cpu", kGpuWithoutCustom}, options);
      ASSERT_TRUE(p.plan);
      EXPECT_EQ(device_of(p, "y"), "cpu");
      EXPECT_EQ(device_of(p, "z"), kGpu);
      EXPECT_TRUE(on_copy(p, "z")) << p.plan->text();
      EXPECT_EQ(copies_back(*p.plan), 1);
      expect_product(p, std::string(w) == "computed");
    }
  }
}

TEST(MissionsCase, AThirdDeviceThatAddressesTheMemoryTakesIt) {
  const Planned p = planned_or_fail(parse_small(mission_graph("weight")),
                                    {kGpuWithoutCustom, "isolated:h,no=custom,addresses=cpu", "cpu"}, {}, {"mul_@cpu"});
  ASSERT_TRUE(p.plan);
  EXPECT_EQ(device_of(p, "y"), "cpu");
  EXPECT_EQ(device_of(p, "z"), "isolated:h") << p.plan->text();
  EXPECT_TRUE(p.plan->copies.empty());
  expect_product(p, false);
}

TEST(MissionsCase, ANodeWhoseDeviceCanUseTheMemoryIsUntouched) {
  for (const Form& form : forms()) {
    PlanOptions without = form.options;
    without.skip = {"own"};
    const Graph graph = parse_small(mission_graph(form.w));
    const std::vector<std::string> devices{kGpuWithoutCustom + ",addresses=cpu", "cpu"};
    const Planned p = planned_or_fail(graph, devices, form.options);
    ASSERT_TRUE(p.plan);
    EXPECT_EQ(device_of(p, "y"), "cpu");
    EXPECT_EQ(device_of(p, "z"), kGpu);
    EXPECT_EQ(find_node(*p.plan, "z")->moved, "");
    EXPECT_FALSE(on_copy(p, "z"));
    EXPECT_TRUE(p.plan->copies.empty()) << p.plan->text();
    EXPECT_EQ(p.plan->text(), planned_or_fail(graph, devices, without).plan->text());
    expect_product(p, form.w == "computed");
  }
}

TEST(MissionsCase, WithoutThePassTheVerifierRefusesAndThenTheDevice) {
  for (const Form& form : forms()) {
    PlanOptions options = form.options;
    options.skip = {"own"};
    const Graph graph = parse_small(mission_graph(form.w));
    const auto refused = plan_on(graph, {kGpuWithoutCustom, "cpu"}, options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::internal);
    EXPECT_NE(refused.error().format().find("does not address the memory of cpu"), std::string::npos)
        << refused.error().format();
    options.verify = false;
    const auto unverified = plan_on(graph, {kGpuWithoutCustom, "cpu"}, options);
    ASSERT_TRUE(unverified.ok()) << unverified.error().format();
    for (const bool serial : {true, false}) {
      const auto run = run_plan(*unverified->engine, unverified->plan, named_inputs(*unverified->plan), serial);
      ASSERT_FALSE(run.ok());
      EXPECT_EQ(run.error().code, ErrorCode::ownership) << run.error().format();
    }
  }
}

TEST(Placements, WhatOneDeviceCanRunIsPlannedAsWithoutThePass) {
  for (const SmallGraph& small : small_graphs()) {
    const Graph graph = parse_small(small);
    const std::vector<std::vector<std::string>> choices{{"cpu"}, {kGpu, "cpu"}, {"cpu", kGpu}};
    for (const auto& devices : choices) {
      PlanOptions without;
      without.skip = {"own"};
      const Planned p = planned_or_fail(graph, devices);
      ASSERT_TRUE(p.plan);
      EXPECT_EQ(p.plan->text(), planned_or_fail(graph, devices, without).plan->text()) << small.name;
      EXPECT_EQ(p.plan->segments.size(), 1U);
      EXPECT_TRUE(p.plan->copies.empty());
      run_and_compare(p, small.name);
    }
  }
}

// Nodes that run something.
std::vector<size_t> runners(const Graph& graph) {
  std::vector<size_t> all;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].op->kind != OpKind::view) all.push_back(i);
  }
  return all;
}

PortBytes on_the_cpu(const Graph& graph) {
  PlanOptions plain;
  plain.fuse = false;
  return run_and_compare(planned_or_fail(graph, {"cpu"}, plain), "the CPU alone");
}

TEST(Placements, AllByPins) {
  int count = 0;
  for (const SmallGraph& small : small_graphs()) {
    const Graph graph = parse_small(small);
    const std::vector<size_t> nodes = runners(graph);
    const PortBytes want = on_the_cpu(graph);
    for (size_t placement = 0; placement < (size_t{1} << nodes.size()); ++placement) {
      GraphEdit edit(graph);
      for (size_t i = 0; i < nodes.size(); ++i) edit.pin[nodes[i]] = (placement >> i & 1) != 0 ? kGpu : "cpu";
      const Graph pinned = edited(graph, edit).value();
      for (const bool fuse : {false, true}) {
        PlanOptions options;
        options.fuse = fuse;
        const Planned p = planned_or_fail(pinned, {kGpu, "cpu"}, options);
        ASSERT_TRUE(p.plan) << small.name;
        for (const Node& node : p.plan->graph.nodes()) {
          const bool free = node.pin.empty() || node.op->kind == OpKind::view;
          EXPECT_TRUE(free || node.device == node.pin) << small.name;
        }
        const std::string what = small.name + ", placement " + std::to_string(placement);
        const PortBytes got = run_and_compare(p, what);
        ASSERT_TRUE(fuse || got == want) << what;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 300);
}

// Each op is on one of the two devices only.
TEST(Placements, AllByMasks) {
  int count = 0;
  for (const SmallGraph& small : small_graphs()) {
    const Graph graph = parse_small(small);
    std::set<std::string> names;
    for (const size_t i : runners(graph)) names.emplace(graph.nodes()[i].op->name);
    const std::vector<std::string> ops(names.begin(), names.end());
    const PortBytes want = on_the_cpu(graph);
    for (size_t placement = 0; placement < (size_t{1} << ops.size()); ++placement) {
      std::string gpu = kGpu;
      std::vector<std::string> disabled;
      for (size_t i = 0; i < ops.size(); ++i) {
        if ((placement >> i & 1) == 0) {
          gpu += (gpu == kGpu ? ",no=" : "+") + ops[i];
        } else {
          disabled.push_back(ops[i] + "@cpu");
        }
      }
      for (const bool fuse : {false, true}) {
        PlanOptions options;
        options.fuse = fuse;
        const std::string what = small.name + ", placement " + std::to_string(placement);
        const auto planned = plan_on(graph, {gpu, "cpu"}, options, disabled);
        ASSERT_TRUE(planned.ok()) << what << planned.error().format();
        const PortBytes got = run_and_compare(*planned, what);
        ASSERT_TRUE(fuse || got == want) << what;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 300);
}

// Every residual block of a UNet and a VAE where the GPU has no group norm: the ops behind it stay with its result.
TEST(Placements, AGroupNormWithoutKernelKeepsItsAffineAndActivation) {
  const Graph graph = parse_small(small_graphs().back());
  const PortBytes want = on_the_cpu(graph);
  for (const bool fuse : {false, true}) {
    PlanOptions options = all_on(kGpu);
    options.fuse = fuse;
    const Planned p = planned_or_fail(graph, {"isolated:g,no=group_norm", "cpu"}, options);
    ASSERT_TRUE(p.plan);
    for (const Node& node : p.plan->graph.nodes()) {
      if (node.op->kind == OpKind::view) continue;
      const bool stays = node.label == "conv" || node.label == "residual";
      EXPECT_EQ(node.device, stays ? kGpu : "cpu") << node.label << p.plan->text();
      EXPECT_FALSE(node.on_copy);
    }
    EXPECT_EQ(p.plan->copies.size(), 1U) << p.plan->text();  // what the convolution reads
    const PortBytes got = run_and_compare(p, "group norm");
    EXPECT_TRUE(fuse || got == want);
  }
}

}  // namespace
}  // namespace chiaro::testing
