// Ids that name no expert: matmul_id's row of NaN on a GPU, an error on the CPU.
#include <gtest/gtest.h>

#include <cmath>

#include "core/tensor.h"
#include "gpu/soft_device.h"
#include "ops/cpu_kernel.h"
#include "ops/matmul_id/op.h"

namespace chiaro {

Kernels cpu_kernels_matmul_id();

namespace {

// x [40,3], w [2,5,3] of ones: every result is 3 but where the id is outside.
struct Routed {
  std::vector<float> x = std::vector<float>(120, 1.0f), w = std::vector<float>(30, 1.0f);
  std::vector<int32_t> ids = std::vector<int32_t>(40);
  AttrMap attrs;
  std::vector<Operand> operands{{dense(DType::f32, {40, 3}), 4, true},
                                {dense(DType::f32, {2, 5, 3}), 4, true},
                                {dense(DType::i32, {40, 1}), 4, true}};
  Call call{&op_def_matmul_id(), &attrs, operands, {dense(DType::f32, {40, 1, 5}), 4, true}};

  explicit Routed(int32_t outside) {
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i % 2);
    ids[17] = outside;
  }
};

SoftOperand memory(auto& values) {
  return {reinterpret_cast<std::byte*>(values.data()), static_cast<int64_t>(values.size() * sizeof(values[0]))};
}

TEST(RoutedRows, AnIdThatNamesNoExpertGivesARowOfNaNOnTheGpu) {
  ThreadPool pool(2);
  for (const char* name : {"apple7", "apple5-vm"}) {
    const gpu::Profile profile = *gpu::find_profile(name);
    SoftTestDevice device(profile, pool);
    SoftGpu gpu(gpu_soft_kernels(), profile.traits, pool);
    for (const int32_t outside : {-1, 2, 2147483647, -2147483647 - 1}) {
      Routed r(outside);
      const auto plan = device.kernels("matmul_id").front().plan(r.call, device.traits());
      ASSERT_TRUE(plan.ok()) << plan.error().format();
      std::vector<float> y(200, -7.0f), scratch(static_cast<size_t>(plan->scratch_bytes()) / 4);
      InitMap unwritten(plan->scratch_bytes());
      SoftGpuRun run;
      run.gpu = &gpu;
      run.inputs = {memory(r.x), memory(r.w), memory(r.ids)};
      run.output = memory(y);
      run.scratch = memory(scratch);
      run.scratch.init = &unwritten;
      const Status status = plan->run(run);
      ASSERT_TRUE(status.ok()) << status.error().format();
      for (size_t i = 0; i < y.size(); ++i) {
        if (i / 5 == 17) {
          EXPECT_TRUE(std::isnan(y[i])) << name << " " << outside;
        } else {
          ASSERT_EQ(y[i], 3.0f) << name << " " << outside << " element " << i;
        }
      }
    }
  }
}

TEST(RoutedRows, AnIdThatNamesNoExpertIsAnErrorOnTheCpu) {
  ThreadPool pool(2);
  for (const int32_t outside : {-1, 2, 2147483647, -2147483647 - 1}) {
    Routed r(outside);
    DeviceTraits traits;
    traits.threads = 2;
    const auto plan = cpu_kernels_matmul_id().front().plan(r.call, traits);
    ASSERT_TRUE(plan.ok()) << plan.error().format();
    std::vector<float> y(200, -7.0f);
    const std::vector<const std::byte*> inputs{memory(r.x).base, memory(r.w).base, memory(r.ids).base};
    CpuRun run;
    run.inputs = inputs;
    run.output = memory(y).base;
    run.pool = &pool;  // no scratch: nothing may be computed before the ids are checked
    const Status status = plan->run(run);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().what.find(std::to_string(outside)), std::string::npos);
    EXPECT_NE(status.error().why.find("0 to 1"), std::string::npos);
    for (const float v : y) ASSERT_EQ(v, -7.0f);
  }
}

}  // namespace
}  // namespace chiaro
