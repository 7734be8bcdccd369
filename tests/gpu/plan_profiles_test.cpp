// Plans of whole models for every profile, on a host without a GPU and without a byte of weights: no node falls back to
// the CPU, and every launch of every step is within that GPU's limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "gpu/profile.h"
#include "models/clip/model.h"
#include "models/unet/model.h"
#include "models/vae/model.h"
#include "ops/gpu_kernel.h"
#include "pipeline/step_graph.h"
#include "plan/plan.h"
#include "runtime/engine.h"

namespace chiaro {
namespace {

// Every weight that is asked for, of that shape and without data.
class ShapesAlone final : public nn::WeightSource {
 public:
  Result<TensorDataPtr> take(std::string_view name, const Shape& shape) override {
    TensorData tensor;
    tensor.name = name;
    tensor.desc = dense(DType::f16, shape);
    return std::make_shared<const TensorData>(std::move(tensor));
  }
  TensorDataPtr take_scale(std::string_view) override { return nullptr; }
};

struct Stage {
  std::string name;
  Graph graph;
};

void add_stage(std::vector<Stage>& stages, const std::string& name, Result<Graph> graph) {
  ASSERT_TRUE(graph.ok()) << name << ": " << graph.error().format();
  stages.push_back({name, std::move(*graph)});
}

constexpr int64_t kPicture = 1024;  // pixels a side

// SD 1.5, both sides of guidance in one batch.
std::vector<Stage> sd15_stages(DType dtype) {
  std::vector<Stage> stages;
  ShapesAlone weights;
  models::ClipTextRequest text;
  text.batch = 2;
  text.dtype = dtype;
  add_stage(stages, "SD 1.5 text encoder", models::build_clip_text(models::clip_l_config(), weights, text));
  models::UnetRequest step;
  step.batch = 2;
  step.height = step.width = kPicture / 8;
  step.dtype = dtype;
  add_stage(stages, "SD 1.5 UNet", models::build_unet(models::sd1_unet_config(), weights, step));
  models::VaeRequest decode;
  decode.height = decode.width = kPicture / 8;
  decode.dtype = dtype;
  add_stage(stages, "SD 1.5 decoder", models::build_vae_decoder(models::sd1_vae_config(), weights, decode));
  return stages;
}

std::vector<Stage> shipped_stages(DType dtype) {
  std::vector<Stage> stages;
  const auto model = assemble(std::string(CHIARO_SOURCE_DIR) + "/models/tiny", *Log::silent());
  EXPECT_TRUE(model.ok()) << model.error().format();
  if (!model.ok()) return stages;
  const Assembly& tiny = **model;
  models::ClipTextRequest text;
  text.batch = 2;
  text.dtype = dtype;
  add_stage(stages, "tiny text encoder", models::build_clip_text(tiny.clip, *tiny.text_weights, text));
  StepRequest step;
  step.height = step.width = kPicture / tiny.vae.scale();
  step.dtype = dtype;
  add_stage(stages, "tiny step", build_step(tiny, step));
  DecodeRequest decode;
  decode.height = decode.width = step.height;
  decode.dtype = dtype;
  add_stage(stages, "tiny decoder", build_decode(tiny, decode));
  return stages;
}

// Takes down the launches of a step instead of running them.
struct RecordedLaunches final : GpuRun {
  std::vector<GpuDispatch> dispatches;
  Status dispatch(const GpuDispatch& one) override {
    dispatches.push_back(one);
    return {};
  }
};

struct PlanSums {
  size_t launches = 0;
  double seconds = 0, longest = 0;  // predicted
  std::string longest_kernel;
};

// The limits once more, independently of check_dispatch().
void check_limits(const GpuDispatch& d, const gpu::Traits& gpu) {
  EXPECT_GT(d.groups.count(), 0U);
  EXPECT_LE(d.groups.x, 0x7FFFFFFFU);
  EXPECT_LE(std::max(d.groups.y, d.groups.z), 65535U);
  EXPECT_TRUE(d.threads > 0 && d.threads % 32 == 0 && d.threads <= static_cast<uint32_t>(gpu.max_threads)) << d.threads;
  EXPECT_LE(static_cast<int64_t>(d.threadgroup_bytes), gpu.threadgroup_bytes);
  EXPECT_TRUE((d.needs & kGpuNeedsSimdReduce) == 0 || gpu.simd_reduce);
  EXPECT_TRUE((d.needs & kGpuNeedsSimdMatrix) == 0 || gpu.simd_matrix);
  EXPECT_LE(d.buffers.size(), static_cast<size_t>(kMostGpuBuffers));
  EXPECT_LE(d.args.size(), kMostGpuArgBytes);
  EXPECT_TRUE(d.flops > 0 || d.bytes > 0) << "its time cannot be predicted";
  EXPECT_LE(predicted_seconds(d, gpu), gpu.watchdog_seconds);
}

void check_operands(const GpuDispatch& d, const ExecutionPlan& plan, const PlanStep& step, const gpu::Traits& gpu) {
  const Node& node = plan.graph.nodes()[static_cast<size_t>(step.node)];
  for (const GpuOperand& operand : d.buffers) {
    if (operand.kind == GpuOperand::Kind::none) continue;
    const int64_t end = operand.offset + operand.bytes;
    EXPECT_TRUE(operand.offset >= 0 && operand.bytes >= 0);
    EXPECT_LE(end, gpu.max_buffer_bytes);
    EXPECT_LT(end / operand.element_bytes, int64_t{1} << 32);  // kernels count elements in 32 bits
    if (operand.kind == GpuOperand::Kind::scratch) {
      EXPECT_LE(end, step.kernel.scratch_bytes());
    } else {
      const bool output = operand.kind == GpuOperand::Kind::output;
      ASSERT_TRUE(output || static_cast<size_t>(operand.index) < node.inputs.size());
      const Value v = output ? node.output : node.inputs[static_cast<size_t>(operand.index)];
      ASSERT_TRUE(v.valid());
      EXPECT_LE(end, plan.graph.info(v).desc.span_bytes());
    }
  }
}

PlanSums check_launches(const ExecutionPlan& plan, const gpu::Traits& gpu) {
  PlanSums sums;
  for (const PlanStep& step : plan.steps) {
    EXPECT_GE(step.node, 0) << "a copy";
    if (step.node < 0 || step.kernel.empty()) continue;
    const Node& node = plan.graph.nodes()[static_cast<size_t>(step.node)];
    RecordedLaunches recorded;
    EXPECT_TRUE(step.kernel.run(recorded).ok());
    EXPECT_FALSE(recorded.dispatches.empty()) << node.op->name;
    for (const GpuDispatch& d : recorded.dispatches) {
      SCOPED_TRACE(std::string(d.kernel) + " of " + std::string(node.op->name) + " " + node.label);
      check_limits(d, gpu);
      check_operands(d, plan, step, gpu);
      const double seconds = predicted_seconds(d, gpu);
      sums.seconds += seconds;
      if (seconds > sums.longest) {
        sums.longest = seconds;
        sums.longest_kernel = d.kernel;
      }
    }
    sums.launches += recorded.dispatches.size();
  }
  return sums;
}

class PlanProfiles : public ::testing::TestWithParam<std::string> {
 protected:
  void check_stage(const Stage& stage, DType dtype) {
    SCOPED_TRACE(stage.name + " in " + std::string(dtype_name(dtype)));
    const std::string name = "softgpu:" + GetParam();
    EngineOptions options;
    options.threads = 1;
    options.devices = {name, "cpu"};
    const auto engine = Engine::create(options).value();
    const auto planned = make_plan(stage.graph, engine->devices());
    ASSERT_TRUE(planned.ok()) << planned.error().format();
    const ExecutionPlan& plan = **planned;
    for (const Node& node : plan.graph.nodes()) {
      EXPECT_TRUE(node.op->kind == OpKind::view || node.device == name) << node.label << " is on " << node.device;
      EXPECT_EQ(node.moved, "") << node.op->name << " " << node.label;
    }
    EXPECT_TRUE(plan.copies.empty());
    const gpu::Traits& gpu = engine->device(name)->traits().gpu;
    const PlanSums sums = check_launches(plan, gpu);
    EXPECT_GT(sums.launches, 0U);
    std::printf("%-9s %-20s %s: %4zu nodes, %5zu launches, %7.2f s predicted, longest %4.0f ms (%s), arena %6.0f MiB\n",
                GetParam().c_str(), stage.name.c_str(), std::string(dtype_name(dtype)).c_str(),
                plan.graph.nodes().size(), sums.launches, sums.seconds, sums.longest * 1e3, sums.longest_kernel.c_str(),
                static_cast<double>(plan.arena_bytes()) / 0x1p20);
  }
};

TEST_P(PlanProfiles, Sd15At1024) {
  for (const DType dtype : {DType::f16, DType::f32}) {
    for (const Stage& stage : sd15_stages(dtype)) check_stage(stage, dtype);
  }
}

TEST_P(PlanProfiles, ShippedModelAt1024) {
  for (const DType dtype : {DType::f16, DType::f32}) {
    for (const Stage& stage : shipped_stages(dtype)) check_stage(stage, dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlanProfiles, ::testing::ValuesIn(gpu::profile_names()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace chiaro
