// Offsets beyond 32 bits: plan() refuses them with the values before anything is launched. Extents are made up; no
// memory is touched.
#include <gtest/gtest.h>

#include "gpu/soft_device.h"
#include "ops/catalogue.h"

namespace chiaro {
namespace {

const OpDef& op_named(std::string_view name) {
  for (const OpDef* op : op_catalogue()) {
    if (op->name == name) return *op;
  }
  ADD_FAILURE() << "no op " << name;
  return *op_catalogue()[0];
}

Result<KernelPlan> plan_of(std::string_view op, const std::vector<TensorDesc>& inputs, const TensorDesc& out,
                           const AttrMap& attrs = {}) {
  ThreadPool pool(1);
  SoftTestDevice device(*gpu::find_profile("apple7"), pool);
  std::vector<Operand> operands;
  for (const TensorDesc& desc : inputs) operands.push_back({desc, 64, true});
  const Call call{&op_named(op), &attrs, operands, {out, 64, true}};
  return device.kernels(op).front().plan(call, device.traits());
}

void expect_refused(const Result<KernelPlan>& plan) {
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
  EXPECT_NE(plan.error().format().find("2147483648"), std::string::npos) << plan.error().format();
}

TEST(LargeOffsets, AConvolutionOf2To31ElementsIsRefusedAndASmallerOneIsNot) {
  const AttrMap pad{
      {"pad_top", int64_t{1}}, {"pad_bottom", int64_t{1}}, {"pad_left", int64_t{1}}, {"pad_right", int64_t{1}}};
  const auto plan = [&pad](int64_t size, int64_t channels) {
    const TensorDesc x = dense(DType::f16, {1, size, size, channels});
    return plan_of("conv2d", {x, dense(DType::f16, {channels, channels, 3, 3})}, x, pad);
  };
  expect_refused(plan(2048, 512));
  const auto fits = plan(512, 128);
  EXPECT_TRUE(fits.ok()) << fits.error().format();
}

TEST(LargeOffsets, AStrideOf2To33BytesIsRefused) {
  const TensorDesc y = dense(DType::f32, {2, 64});
  TensorDesc sparse = y;
  sparse.strides[0] = int64_t{1} << 31;  // elements
  expect_refused(plan_of("add", {sparse, y}, y));
  expect_refused(plan_of("add", {y, sparse}, y));
  EXPECT_TRUE(plan_of("add", {y, y}, y).ok());
}

}  // namespace
}  // namespace chiaro
