// The seven points of plan/verify.h, one by one, on a plan of three devices that is broken by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/all.h"
#include "plan/verify.h"
#include "runtime/engine.h"

namespace chiaro {
namespace {

// A norm on the CPU, scaled in place on isolated:a (a pin, so on a copy that comes back), read on isolated:b and on the
// CPU; and a chain on isolated:b whose memory is used again.
Graph scaled_norm() {
  GraphBuilder g;
  const auto on = [&](const char* device) { g.pin_next(device); };
  const TensorDesc desc = dense(DType::f32, {1, 4, 4, 8});
  const Value x = g.input("x", desc);
  const Value w = g.weight(make_tensor("w", DType::f32, desc.shape, std::vector<float>(128, 0.5F)));
  on("cpu");
  const Value n = group_norm(g, {.groups = 4}, x);
  on("isolated:b");
  const Value before = silu(g, n);
  const GraphBuilder::Scope scope(g, "scale");
  on("isolated:a");
  const Value y = mul_(g, n, w);
  on("isolated:b");
  const Value z = add(g, y, before);
  on("isolated:b");
  const Value small = softmax(g, {.axis = -1}, slice(g, {.axis = 3, .start = 0, .end = 4}, z));
  on("cpu");
  g.output("s", silu(g, y));
  g.output("z", z);
  on("cpu");
  g.output("small", silu(g, small));
  return g.finish().value();
}

class VerifyPoints : public ::testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.threads = 1;
    options.devices = {"cpu", "isolated:a", "isolated:b"};
    engine_ = Engine::create(std::move(options)).value();
    auto plan = make_plan(scaled_norm(), engine_->devices(), {.fuse = false});
    ASSERT_TRUE(plan.ok()) << plan.error().format();
    plan_ = std::const_pointer_cast<ExecutionPlan>(*plan);
    ASSERT_TRUE(verify(*plan_).ok());
  }

  void expect_refused(int point, std::string_view says) const {
    const Status status = verify(*plan_);
    ASSERT_FALSE(status.ok()) << says;
    const std::string text = status.error().format();
    EXPECT_EQ(status.error().code, ErrorCode::internal);
    EXPECT_NE(text.find("(point " + std::to_string(point) + ","), std::string::npos) << text;
    EXPECT_NE(text.find(says), std::string::npos) << text;
  }

  PlanStep& kernel(std::string_view op, size_t nth = 0) {
    for (PlanStep& step : plan_->steps) {
      if (step.copy < 0 && node(step).op->name == op && nth-- == 0) return step;
    }
    ADD_FAILURE() << "no step of " << op << "\n" << plan_->text();
    return plan_->steps.front();
  }
  const Node& node(const PlanStep& step) const { return plan_->graph.nodes()[static_cast<size_t>(step.node)]; }

  // The copy of a version from the norm's storage to a device.
  PlanCopy& copy_to(std::string_view device, int32_t version, bool back = false) {
    for (PlanCopy& copy : plan_->copies) {
      const ValueInfo& info = plan_->graph.info(copy.value);
      const bool norm = info.storage == plan_->graph.info(node(kernel("group_norm")).output).storage;
      const std::string& to = plan_->devices[static_cast<size_t>(copy.to.device)]->traits().name;
      if (norm && to == device && info.version == version && copy.back == back) return copy;
    }
    ADD_FAILURE() << "no such copy\n" << plan_->text();
    return plan_->copies.front();
  }

  // Steps without the one of `copy`; segments follow.
  void drop(const PlanCopy& copy) {
    const auto index = static_cast<int32_t>(&copy - plan_->copies.data());
    const auto at = std::find_if(plan_->steps.begin(), plan_->steps.end(),
                                 [&](const PlanStep& step) { return step.copy == index; });
    const auto place = static_cast<int32_t>(at - plan_->steps.begin());
    plan_->steps.erase(at);
    for (PlanSegment& segment : plan_->segments) {
      if (segment.first <= place && place < segment.first + segment.count) --segment.count;
      if (segment.first > place) --segment.first;
    }
    for (size_t s = 0; s < plan_->segments.size(); ++s) {
      if (plan_->segments[s].count == 0) drop_segment(s);
    }
  }

  // Later segments wait for what it waited for.
  void drop_segment(size_t s) {
    const PlanSegment gone = plan_->segments[s];
    plan_->segments.erase(plan_->segments.begin() + static_cast<std::ptrdiff_t>(s));
    for (PlanSegment& segment : plan_->segments) {
      std::vector<int32_t> waits;
      for (const int32_t wait : segment.waits) {
        if (wait == static_cast<int32_t>(s))
          waits.insert(waits.end(), gone.waits.begin(), gone.waits.end());
        else
          waits.push_back(wait > static_cast<int32_t>(s) ? wait - 1 : wait);
      }
      segment.waits = waits;
    }
  }

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<ExecutionPlan> plan_;
};

TEST_F(VerifyPoints, OneKernelsAreTheirNodes) {
  std::swap(kernel("silu", 1).kernel, kernel("silu", 2).kernel);  // of [1,4,4,8] and of [1,4,4,4]
  expect_refused(1, "made for another call");
  std::swap(kernel("silu", 1).kernel, kernel("silu", 2).kernel);
  std::swap(kernel("silu", 0).kernel, kernel("silu", 1).kernel);  // the same call on two devices
  expect_refused(1, "made for another call");
  std::swap(kernel("silu", 0).kernel, kernel("silu", 1).kernel);
  std::swap(kernel("silu", 0).kernel, kernel("add").kernel);
  expect_refused(1, "kernel of another op");
  std::swap(kernel("silu", 0).kernel, kernel("add").kernel);
  kernel("silu", 1).node = kernel("silu", 0).node;
  expect_refused(1, "two steps run one node");
  kernel("silu", 0).kernel = {};
  expect_refused(1, "kernel of another op");
}

TEST_F(VerifyPoints, OneEveryNodeRuns) {
  plan_->steps.pop_back();
  if (--plan_->segments.back().count == 0) plan_->segments.pop_back();
  expect_refused(1, "no step runs node");
}

TEST_F(VerifyPoints, TwoOperandsLieWhereTheirDeviceReads) {
  PlanStep& add = kernel("add");
  const MemRef image = add.inputs[0];
  add.inputs[0] = kernel("group_norm").output;  // the right bytes, of the CPU
  expect_refused(2, "isolated:b does not address the memory of cpu");
  add.inputs[0] = copy_to("isolated:b", 0).to;  // right memory, as it was before mul_
  expect_refused(2, "version 0");
  add.inputs[0] = {Region::arena, 7, 0, 0};
  expect_refused(2, "no such device");
  add.inputs[0] = {};
  expect_refused(2, "has no memory");
  add.inputs[0] = image;
  plan_->outputs[0].memory = plan_->outputs[2].memory;
  expect_refused(2, "output s");
}

TEST_F(VerifyPoints, TwoCopiesCarryWhatTheySay) {
  PlanCopy& copy = copy_to("isolated:b", 1);
  const PlanCopy whole = copy;
  copy.value = copy_to("isolated:b", 0).value;
  expect_refused(2, "version 1");
  copy = whole;
  copy.end -= 4;
  expect_refused(2, "holds");
  copy = whole;
  copy.from.offset += 64;
  plan_->arenas[0].bytes = 1 << 20;
  expect_refused(2, "holds");
  copy = whole;
  copy.staged = false;
  expect_refused(2, "cannot copy from");
}

TEST_F(VerifyPoints, TwoSourcesAreBroughtThere) {
  for (size_t i = 0; i < plan_->staged.size(); ++i) {
    const PlanStaged dropped = plan_->staged[i];
    plan_->staged.erase(plan_->staged.begin() + static_cast<std::ptrdiff_t>(i));
    expect_refused(2, "nothing brings it to");
    plan_->staged.insert(plan_->staged.begin() + static_cast<std::ptrdiff_t>(i), dropped);
  }
  PlanStep& scale = kernel("mul_");
  ASSERT_EQ(scale.inputs[1].region, Region::weight);
  scale.inputs[1].device = 0;
  expect_refused(2, "does not address");
}

TEST_F(VerifyPoints, ThreeResultsComeHome) {
  drop(copy_to("cpu", 1, true));
  expect_refused(2, "version 0");  // the CPU's silu reads the old version
}

TEST_F(VerifyPoints, ThreeWritesStayAtTheirTarget) {
  PlanStep& scale = kernel("mul_");
  const MemRef image = scale.output;
  scale.output = scale.inputs[0] = kernel("group_norm").output;
  expect_refused(2, "does not address");
  scale.inputs[0] = image;
  expect_refused(3, "is written to");
  scale.output = image;
  copy_to("cpu", 1, true).back = false;
  expect_refused(3, "a copy out");
}

// An in-place result that nobody else reads still belongs where its target lives.
TEST(VerifyPointThree, EvenWhereNobodyLooks) {
  GraphBuilder g;
  const Value x = g.input("x", dense(DType::f32, {64}));
  g.pin_next("cpu");
  const Value n = silu(g, x);
  g.pin_next("isolated:a");
  const Value y = silu_(g, n);
  g.pin_next("isolated:a");
  g.output("y", silu(g, y));
  EngineOptions options;
  options.threads = 1;
  options.devices = {"cpu", "isolated:a"};
  const auto engine = Engine::create(std::move(options)).value();
  const auto made = make_plan(g.finish().value(), engine->devices(), {.fuse = false});
  ASSERT_TRUE(made.ok()) << made.error().format();
  const auto plan = std::const_pointer_cast<ExecutionPlan>(*made);
  // The copy back goes; whoever reads y reads it where it was made.
  const auto back = std::find_if(plan->steps.begin(), plan->steps.end(), [&](const PlanStep& step) {
    return step.copy >= 0 && plan->copies[static_cast<size_t>(step.copy)].back;
  });
  ASSERT_NE(back, plan->steps.end()) << plan->text();
  const auto at = static_cast<int32_t>(back - plan->steps.begin());
  plan->steps.erase(back);
  for (PlanStep& step : plan->steps) {
    if (step.copy < 0 && step.output.device == 1) step.inputs[0] = plan->steps[static_cast<size_t>(at) - 1].output;
  }
  std::vector<PlanSegment> segments;
  for (size_t i = 0; i < plan->steps.size(); ++i) {
    const auto n_done = static_cast<int32_t>(segments.size());
    segments.push_back({plan->steps[i].device, static_cast<int32_t>(i), 1, {}});
    if (n_done > 0) segments.back().waits = {n_done - 1};
  }
  plan->segments = segments;
  const Status status = verify(*plan);
  ASSERT_FALSE(status.ok()) << plan->text();
  EXPECT_NE(status.error().what.find("never copied back"), std::string::npos) << status.error().format();
}

TEST_F(VerifyPoints, FourBytesAreSharedByContract) {
  PlanCopy& copy = copy_to("isolated:b", 1);
  const PlanCopy whole = copy;
  copy.to.offset += 32;
  plan_->arenas[2].bytes += 64;
  expect_refused(4, "multiple of 64");
  copy = whole;
  plan_->arenas[2].bytes = 64;
  expect_refused(4, "outside the arena of isolated:b");
  plan_->arenas[2].bytes = 1 << 20;
  PlanStep& add = kernel("add");
  const MemRef out = add.output;
  add.output.offset += 4;
  expect_refused(4, "multiples of 64");
  add.output = {Region::weight, 2, 0, 0};
  expect_refused(4, "never written");
  add.output = out;
  add.output.offset = add.inputs[0].offset + 64;
  expect_refused(4, "overwrites operand");
  add.output = out;
  copy.from = {Region::arena, 2, 0, copy.to.offset + 64};
  expect_refused(4, "over itself");
}

TEST_F(VerifyPoints, FiveEveryWaitIsNeeded) {
  int waits = 0;
  for (PlanSegment& segment : plan_->segments) {
    for (size_t w = 0; w < segment.waits.size(); ++w) {
      const int32_t wait = segment.waits[w];
      segment.waits.erase(segment.waits.begin() + static_cast<std::ptrdiff_t>(w));
      expect_refused(5, "does not wait for segment");
      segment.waits.insert(segment.waits.begin() + static_cast<std::ptrdiff_t>(w), wait);
      ++waits;
    }
  }
  EXPECT_GE(waits, 6) << plan_->text();
}

TEST_F(VerifyPoints, FiveSegmentsAreWellFormed) {
  PlanSegment& last = plan_->segments.back();
  const PlanSegment whole = last;
  last.waits.push_back(static_cast<int32_t>(plan_->segments.size()) - 1);
  expect_refused(5, "not before it");
  last.waits = {-1};
  expect_refused(5, "not before it");
  last = whole;
  last.device = last.device == 0 ? 1 : 0;
  expect_refused(5, "another device");
  last.device = 9;
  expect_refused(5, "no device");
  last = whole;
  ++last.count;
  expect_refused(5, "does not follow");
  plan_->segments.pop_back();
  expect_refused(5, "is in no segment");
}

TEST_F(VerifyPoints, SixPinsHold) {
  PlanStep& add = kernel("add");
  add.device = 0;
  plan_->segments.clear();
  for (size_t i = 0; i < plan_->steps.size(); ++i) {
    plan_->segments.push_back({plan_->steps[i].device, static_cast<int32_t>(i), 1, {}});
    if (i > 0) plan_->segments.back().waits = {static_cast<int32_t>(i) - 1};
  }
  expect_refused(6, "a node pinned to isolated:b runs on cpu");
}

TEST(VerifyPointSeven, OneDeviceOneSegment) {
  GraphBuilder g;
  Value x = g.input("x", dense(DType::f32, {64}));
  for (int i = 0; i < 4; ++i) x = gelu(g, x);
  g.output("y", x);
  EngineOptions options;
  options.threads = 1;
  options.devices = {"cpu", "isolated:a"};
  const auto engine = Engine::create(std::move(options)).value();
  const auto plan =
      std::const_pointer_cast<ExecutionPlan>(make_plan(g.finish().value(), engine->devices(), {.fuse = false}).value());
  ASSERT_EQ(plan->segments.size(), 1U) << plan->text();
  ASSERT_EQ(plan->steps.size(), 4U) << plan->text();
  plan->segments = {{plan->segments[0].device, 0, 2, {}}, {plan->segments[0].device, 2, 2, {0}}};
  const Status status = verify(*plan);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().what.find("(point 7,"), std::string::npos) << status.error().format();
}

}  // namespace
}  // namespace chiaro
