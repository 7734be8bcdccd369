// Tensors in odd layouts, and one call of an op's CPU kernel against its double-precision reference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/tensor.h"
#include "ops/cpu_kernel.h"

namespace chiaro::test {

enum class Layout { dense, permuted, padded, stepped };
inline constexpr Layout kLayouts[] = {Layout::dense, Layout::permuted, Layout::padded, Layout::stepped};

// A view into its own bytes. `guard` bytes around and between the elements must survive a write.
struct Tensor {
  TensorDesc desc;
  std::vector<std::byte> bytes;
  int64_t offset = 0;  // of the first element, in bytes

  std::byte* data() { return bytes.data() + offset; }
  const std::byte* data() const { return bytes.data() + offset; }
  std::vector<double> values() const {
    std::vector<double> v;
    for_each_element(desc, [&](int64_t, int64_t at) { v.push_back(load_element(desc.dtype, data(), at)); });
    return v;
  }
};

// permuted: dimensions lie in memory in reverse order; padded: rows are 3 elements longer than used; stepped: only
// every second element is used. All but dense start 5 elements into their memory.
inline Tensor make_layout(DType dtype, const Shape& shape, Layout layout) {
  Tensor t;
  t.desc = dense(dtype, shape);
  const int64_t lead = layout == Layout::dense ? 0 : 5;
  int64_t stride = layout == Layout::stepped ? 2 : 1;
  for (int i = 0; i < shape.rank() && layout != Layout::dense; ++i) {
    const int d = layout == Layout::permuted ? i : shape.rank() - 1 - i;
    t.desc.strides[d] = stride;
    stride *= shape[d] + (layout == Layout::padded && i == 0 ? 3 : 0);
  }
  t.offset = lead * unit_bytes(dtype);
  t.bytes.assign(static_cast<size_t>(t.offset + t.desc.span_bytes() + 7 * unit_bytes(dtype)), std::byte{0x55});
  return t;
}

inline Tensor random_tensor(DType dtype, const Shape& shape, Layout layout, std::mt19937& rng, double low = -3,
                            double high = 3) {
  Tensor t = make_layout(dtype, shape, layout);
  std::uniform_real_distribution<double> draw(low, high);
  for_each_element(t.desc, [&](int64_t, int64_t at) { store_element(dtype, t.data(), at, draw(rng)); });
  return t;
}

inline Kernel kernel_of(std::string_view op) {
  for (const Kernels& kernels : cpu_kernel_table()) {
    for (const Kernel& k : kernels) {
      if (k.op == op) return k;
    }
  }
  ADD_FAILURE() << "no CPU kernel for " << op;
  return {};
}

struct In {
  TensorDesc desc;
  const std::byte* data;
};
inline In in(const Tensor& t) {
  return {t.desc, t.data()};
}

// Plans and runs the CPU kernel of `op`. `out` is written as the kernel's output, whatever memory that is.
inline Status run_kernel(const OpDef& op, const AttrMap& attrs, const std::vector<In>& inputs, const TensorDesc& out,
                         std::byte* out_data, int threads = 2) {
  std::vector<Operand> operands;
  std::vector<const std::byte*> pointers;
  for (const In& x : inputs) {
    operands.push_back({x.desc, 1, true});
    pointers.push_back(x.data);
  }
  const Call call{&op, &attrs, operands, {out, 1, true}};
  CHIARO_ASSIGN(const KernelPlan plan, kernel_of(op.name).plan(call, DeviceTraits{}));
  ThreadPool pool(threads);
  CpuRun run;
  run.inputs = pointers;
  run.output = out_data;
  run.pool = &pool;
  return plan.run(run);
}

inline std::vector<double> reference(const OpDef& op, const AttrMap& attrs, const std::vector<In>& inputs,
                                     const TensorDesc& out) {
  std::vector<RefTensor> ref;
  for (const In& x : inputs) {
    ref.push_back({x.desc.shape, {}, true});
    for_each_element(x.desc,
                     [&](int64_t, int64_t at) { ref.back().data.push_back(load_element(x.desc.dtype, x.data, at)); });
  }
  RefTensor y{out.shape, std::vector<double>(static_cast<size_t>(out.count())), true};
  const Status status = op.reference(attrs, ref, y);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().format());
  return y.data;
}

inline TensorDesc inferred(const OpDef& op, const AttrMap& attrs, const std::vector<In>& inputs) {
  std::vector<const TensorDesc*> descs;
  for (const In& x : inputs) descs.push_back(&x.desc);
  auto out = op.infer(attrs, descs);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().format());
  return out.ok() ? *out : TensorDesc{};
}

// |got - want| <= 4 eps (1 + |want|), element by element.
inline void expect_close(const std::vector<double>& got, const std::vector<double>& want, DType dtype,
                         const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  const double eps = std::max(epsilon(dtype), 0x1p-24);
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::fabs(got[i] - want[i]), 4 * eps * (1 + std::fabs(want[i])))
        << what << " at " << i << ": " << got[i] << " for " << want[i];
  }
}

// Runs a compute op into fresh memory and compares.
inline void check_op(const OpDef& op, const AttrMap& attrs, const std::vector<In>& inputs, const std::string& what) {
  const TensorDesc out = inferred(op, attrs, inputs);
  Tensor y = make_layout(out.dtype, out.shape, Layout::dense);
  const std::vector<std::byte> before = y.bytes;
  const Status status = run_kernel(op, attrs, inputs, out, y.data());
  ASSERT_TRUE(status.ok()) << what << "\n" << status.error().format();
  expect_close(y.values(), reference(op, attrs, inputs, out), out.dtype, what);
  const auto used = static_cast<size_t>(out.dense_bytes());
  ASSERT_EQ(0, std::memcmp(y.bytes.data() + used, before.data() + used, y.bytes.size() - used)) << what << ": overrun";
}

}  // namespace chiaro::test
