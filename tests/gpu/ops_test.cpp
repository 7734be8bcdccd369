// The conformance cases of every op that has a GPU kernel, on the software GPU of two profiles, under all checks; and
// without checks the same bytes.
#include <gtest/gtest.h>

#include "gpu/soft_device.h"
#include "ops/catalogue.h"
#include "ops/conformance/reference_eval.h"
#include "ops/conformance/tolerance.h"
#include "runtime/conformance_run.h"

namespace chiaro {
namespace {

struct OpOnProfile {
  std::string op, profile;
};
void PrintTo(const OpOnProfile& p, std::ostream* out) {
  *out << p.op << " on " << p.profile;
}

const OpDef& find_op(std::string_view name) {
  for (const OpDef* op : op_catalogue()) {
    if (op->name == name) return *op;
  }
  ADD_FAILURE() << "no op " << name;
  return *op_catalogue()[0];
}

std::vector<OpOnProfile> all_ops() {
  std::vector<OpOnProfile> all;
  for (const Kernels& kernels : gpu_kernel_table()) {
    for (const char* profile : {"apple7", "apple5-vm"}) all.push_back({std::string(kernels.front().op), profile});
  }
  return all;
}

struct Expected {
  TensorDesc out;
  std::vector<std::vector<double>> values;
  RefTensor result;
  double before_act = 0;
};

Expected expectation(const OpDef& op, const Variant& v, const TensorDesc& out) {
  Expected e{out, {}, {}, 0};
  std::vector<RefTensor> tensors;
  std::vector<const TensorDesc*> descs;
  for (size_t i = 0; i < v.inputs.size(); ++i) {
    const bool present = v.inputs[i].present;
    e.values.push_back(present ? variant_values(v, i) : std::vector<double>{});
    descs.push_back(present ? &v.inputs[i].desc : nullptr);
    tensors.push_back({v.inputs[i].desc.shape, e.values.back(), present});
  }
  while (tensors.size() < op.inputs.size() && !op.variadic) {
    tensors.push_back({{}, {}, false});
    descs.push_back(nullptr);
  }
  const auto result = reference_of(op, v.source->attrs, descs, tensors, out);
  EXPECT_TRUE(result.ok()) << v.text();
  if (result.ok()) e.result = *result;
  AttrMap plain = v.source->attrs;
  for (auto& [name, value] : plain) {
    if (name != "act" || value == AttrValue(std::string("none"))) continue;
    value = std::string("none");
    const auto before = reference_of(op, plain, descs, tensors, out);
    if (before.ok()) e.before_act = largest_finite(*before);
  }
  return e;
}

class GpuOps : public ::testing::TestWithParam<OpOnProfile> {
 protected:
  void run_variant(const OpDef& op, const Variant& v) {
    const auto out = v.infer();
    if (!out.ok()) return;
    const Expected e = expectation(op, v, *out);
    for (const Kernel& kernel : checked_.kernels(op.name)) {
      const VariantRun run = launch_variant(checked_, kernel, v, *out, e.values);
      if (run.refused) {
        ++refused_[run.why];
        continue;
      }
      ++ran_;
      ASSERT_FALSE(run.broken) << v.text() << ": " << run.why;
      const auto wrong = compare(*v.source, out->dtype, run.output.data(), e.result, e.before_act);
      ASSERT_FALSE(wrong.has_value()) << v.text() << ", by " << kernel.name << ": " << wrong->text(out->shape);
      const VariantRun fast = launch_variant(fast_, kernel, v, *out, e.values);
      ASSERT_FALSE(fast.broken) << v.text() << ": " << fast.why;
      ASSERT_TRUE(fast.output == run.output) << v.text() << ", by " << kernel.name << ": other bytes without checks";
    }
  }
  ThreadPool pool_{2};
  const gpu::Profile profile_ = *gpu::find_profile(GetParam().profile);
  SoftTestDevice checked_{profile_, pool_}, fast_{profile_, pool_, false};
  int ran_ = 0;
  std::map<std::string, int> refused_;
};

TEST_P(GpuOps, AgreesWithTheReferenceUnderAllChecks) {
  const OpDef& op = find_op(GetParam().op);
  Cases cases;
  for (const CaseTableEntry& entry : case_table()) {
    if (entry.op == op.name) entry.fill(cases);
  }
  ASSERT_FALSE(cases.all().empty());
  for (size_t i = 0; i < cases.all().size(); ++i) {
    for (const Variant& v : expand(cases.all()[i], static_cast<int>(i))) {
      run_variant(op, v);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ran_, 0);
  for (const auto& [why, count] : refused_) std::cout << count << " variants refused: " << why << "\n";
  std::cout << ran_ << " variants ran\n";
}

INSTANTIATE_TEST_SUITE_P(All, GpuOps, ::testing::ValuesIn(all_ops()), [](const auto& one) {
  std::string name = one.param.op + "_" + one.param.profile;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace chiaro
