// Cases 23 and 24 on GPUs, over the first cases of every op: the layouts that kernels of others read as if they were
// dense; and memory that nobody cleaned. An op and layout that ran nowhere fails.
#include <gtest/gtest.h>

#include <map>

#include "gpu/op_run.h"
#include "ops/attention/op.h"
#include "ops/catalogue.h"
#include "ops/conformance/reference_eval.h"
#include "ops/conformance/tolerance.h"
#include "ops/conv2d/op.h"
#include "ops/group_norm/op.h"
#include "ops/layer_norm/op.h"
#include "ops/matmul/op.h"
#include "ops/matmul_id/op.h"
#include "ops/softmax/op.h"
#include "ops/sum/op.h"
#include "runtime/conformance_run.h"

namespace chiaro {
namespace {

// Case 23 ----------------------------------------------------------------------------------------------------

enum class Laid { contiguous, middle_swapped, first_swapped, every_second_row, stretched, odd_start };
constexpr Laid kLaid[] = {Laid::contiguous,       Laid::middle_swapped, Laid::first_swapped,
                          Laid::every_second_row, Laid::stretched,      Laid::odd_start};
constexpr const char* kLaidNames[] = {"contiguous",       "permute(0,2,1,3)", "permute(1,0,2,3)",
                                      "every second row", "stride 0",         "an odd start"};

// Dimensions a and a + 1 lie in memory in the other order.
bool swap_in_memory(VariantInput& in, int a) {
  Shape stored = in.desc.shape;
  std::swap(stored[a], stored[a + 1]);
  in.desc.strides = contiguous_strides(stored);
  std::swap(in.desc.strides[a], in.desc.strides[a + 1]);
  in.layout = Layout::permuted;
  return true;
}

// False where the shape has no such layout.
bool lay(VariantInput& in, Laid how, bool written) {
  const int rank = in.desc.rank();
  switch (how) {
    case Laid::contiguous: return true;
    case Laid::middle_swapped: return rank >= 3 && swap_in_memory(in, rank >= 4 ? 1 : rank - 2);
    case Laid::first_swapped: return rank >= 2 && swap_in_memory(in, 0);
    case Laid::every_second_row:
      if (rank < 2) return false;
      for (int d = 0; d + 1 < rank; ++d) in.desc.strides[d] *= 2;
      in.elements = in.desc.span_bytes() / unit_bytes(in.desc.dtype);
      in.layout = Layout::sliced;
      return true;
    case Laid::stretched:
      if (rank < 2 || written) return false;
      in.broadcast_dim = in.desc.shape[0] > 1 ? 0 : 1;
      if (in.desc.shape[in.broadcast_dim] < 2) return false;
      in.desc.strides[in.broadcast_dim] = 0;
      in.layout = Layout::stretched;
      return true;
    case Laid::odd_start:
      in.offset = 1;
      in.elements += 1;
      in.layout = Layout::misaligned;
      return true;
  }
  return false;
}

// The case's f32 variant with every input laid out so; nothing where no input can be.
std::optional<Variant> laid_out(const Case& source, int index, Laid how) {
  Variant v = expand(source, index).front();
  bool any = false;
  for (size_t i = 0; i < v.inputs.size(); ++i) {
    const bool fixed = source.inputs[i].fixed_layout || is_block(v.inputs[i].desc.dtype);
    if (v.inputs[i].present && !fixed) any = lay(v.inputs[i], how, static_cast<int>(i) == v.overwrite) || any;
  }
  return any ? std::optional(v) : std::nullopt;
}

class GpuLayouts : public ::testing::TestWithParam<const char*> {
 protected:
  // Whether a kernel took it; wrong results fail the test.
  bool runs(const OpDef& op, const Variant& v) {
    const auto out = v.infer();
    if (!out.ok()) return false;
    std::vector<std::vector<double>> values;
    std::vector<RefTensor> tensors;
    std::vector<const TensorDesc*> descs;
    for (size_t i = 0; i < v.inputs.size(); ++i) {
      const bool present = v.inputs[i].present;
      values.push_back(present ? variant_values(v, i) : std::vector<double>{});
      descs.push_back(present ? &v.inputs[i].desc : nullptr);
      tensors.push_back({v.inputs[i].desc.shape, values.back(), present});
    }
    while (tensors.size() < op.inputs.size() && !op.variadic) {
      tensors.push_back({{}, {}, false});
      descs.push_back(nullptr);
    }
    const auto want = reference_of(op, v.source->attrs, descs, tensors, *out);
    EXPECT_TRUE(want.ok()) << v.text();
    bool ran = false;
    for (const Kernel& kernel : device_.kernels(op.name)) {
      const VariantRun run = launch_variant(device_, kernel, v, *out, values);
      if (run.refused || !want.ok()) continue;
      ran = true;
      EXPECT_FALSE(run.broken) << v.text() << ": " << run.why;
      if (run.broken) continue;
      const auto wrong = compare(*v.source, out->dtype, run.output.data(), *want);
      EXPECT_FALSE(wrong.has_value()) << v.text() << ": " << wrong->text(out->shape);
    }
    return ran;
  }
  ThreadPool pool_{2};
  SoftTestDevice device_{*gpu::find_profile(GetParam()), pool_};
};

TEST_P(GpuLayouts, EveryOpInTheLayoutsOfCase23) {
  int total = 0;
  for (const Kernels& kernels : gpu_kernel_table()) {
    const OpDef* op = nullptr;
    for (const OpDef* known : op_catalogue()) op = known->name == kernels.front().op ? known : op;
    ASSERT_NE(op, nullptr);
    Cases cases;
    for (const CaseTableEntry& entry : case_table()) {
      if (entry.op == op->name) entry.fill(cases);
    }
    for (size_t how = 0; how < std::size(kLaid); ++how) {
      int possible = 0, ran = 0;
      for (size_t i = 0; i < cases.all().size() && ran < 4; ++i) {
        const auto v = laid_out(cases.all()[i], static_cast<int>(i), kLaid[how]);
        if (!v || !v->infer().ok() || v->infer()->count() > 20000) continue;
        ++possible;
        ran += runs(*op, *v) ? 1 : 0;
        if (HasFailure()) return;
      }
      total += ran;
      EXPECT_TRUE(ran > 0 || possible == 0) << op->name << " ran nowhere: " << kLaidNames[how];
    }
  }
  std::cout << total << " runs\n";
}

// Case 24 ----------------------------------------------------------------------------------------------------

OpTensor filled(const Shape& shape, float step) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 37) * step - 1;
  return OpTensor::of(DType::f32, shape, values);
}

// The same bytes over NaN, over 3.4e38 and over zeros in scratch and result, without the checks that would find the
// read first.
template <class O>
void expect_clean(const char* profile, const typename O::Attrs& attrs, const std::vector<OpTensor>& inputs) {
  ThreadPool pool(2);
  SoftTestDevice device(*gpu::find_profile(profile), pool, false);
  const auto zeros = run_op<O>(device, attrs, inputs, std::byte{0});
  ASSERT_TRUE(zeros.ok()) << O::name << ": " << zeros.error().format();
  for (const float v : zeros->values()) ASSERT_TRUE(std::isfinite(v)) << O::name;
  for (const std::byte dirt : {std::byte{0xFF}, std::byte{0x7F}}) {
    const auto y = run_op<O>(device, attrs, inputs, dirt);
    ASSERT_TRUE(y.ok()) << O::name << ": " << y.error().format();
    EXPECT_TRUE(y->block == zeros->block) << O::name << " over bytes of " << static_cast<int>(dirt);
  }
}

// Padded tiles, split reductions and what is kept between two launches of one op.
TEST_P(GpuLayouts, MemoryThatNobodyCleanedChangesNothing) {
  const OpTensor q = filled({2, 33, 2, 40}, 0.05f), keys = filled({2, 77, 2, 40}, 0.04f);
  expect_clean<Attention>(GetParam(), {}, {q, keys, keys, {}, {}});
  expect_clean<Attention>(GetParam(), {}, {q, keys, keys, {}, OpTensor::of({2}, {77, 5})});
  expect_clean<Attention>(GetParam(), {.causal = true}, {q, filled({2, 33, 2, 40}, 0.03f), q, {}, {}});
  expect_clean<GroupNorm>(GetParam(), {.groups = 2}, {filled({1, 96, 96, 16}, 0.1f), {}, {}});  // split into chunks
  expect_clean<GroupNorm>(GetParam(), {.groups = 4}, {filled({2, 5, 3, 16}, 0.1f), {}, {}});
  expect_clean<LayerNorm>(GetParam(), {}, {filled({3, 77}, 0.1f), {}, {}});
  expect_clean<Softmax>(GetParam(), {}, {filled({3, 77}, 0.1f)});
  expect_clean<Sum>(GetParam(), {.axes = {0, 1}}, {filled({300, 70, 3}, 0.01f)});
  expect_clean<Matmul>(GetParam(), {}, {filled({33, 17}, 0.1f), filled({35, 17}, 0.1f), {}, {}});
  expect_clean<Matmul>(
      GetParam(), {},
      {filled({1, 288}, 0.1f), OpTensor::of(DType::q4_0, {64, 288}, filled({64, 288}, 0.1f).values()), {}, {}});
  expect_clean<MatmulId>(
      GetParam(), {},
      {filled({5, 17}, 0.1f), filled({3, 35, 17}, 0.1f), OpTensor::of({5, 2}, {0, 2, 2, 0, 0, 0, 2, 2, 0, 2})});
  expect_clean<Conv2d>(GetParam(), {.pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1},
                       {filled({1, 5, 7, 3}, 0.1f), filled({5, 3, 3, 3}, 0.1f), {}, {}});
}

INSTANTIATE_TEST_SUITE_P(All, GpuLayouts, ::testing::ValuesIn(kProfiles), profile_name);

}  // namespace
}  // namespace chiaro
