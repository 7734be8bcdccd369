// test_cuda_conformance MODULES [OP...]: every conformance case of the ops with GPU kernels on a real GPU, against the
// double-precision references, and beside the software GPU. One line of a table per op and choice of kernels; the exit
// code is 1 where a variant fails.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "core/tensor.h"
#include "cuda_device.h"
#include "gpu/soft_device.h"
#include "ops/catalogue.h"
#include "ops/conformance/reference_eval.h"
#include "ops/conformance/tolerance.h"
#include "runtime/conformance_check.h"
#include "runtime/conformance_run.h"

namespace chiaro::testing {
namespace {

// The largest error over the tolerance of ops/conformance/tolerance.h; of finite floats.
double used_tolerance(const Case& c, const Expectation& e, std::span<const std::byte> got) {
  const DType dtype = e.out.dtype;
  if (!is_float(dtype)) return 0;
  const double scale = std::max({c.floor, largest_finite(e.result), e.before_act, 1e-300});
  const double relative = std::max(epsilon(dtype), epsilon(DType::f32) * std::sqrt(static_cast<double>(c.k)));
  double worst = 0;
  for (size_t i = 0; i < e.result.data.size(); ++i) {
    const double value = load_element(dtype, got.data(), static_cast<int64_t>(i));
    if (value == rounded_to(dtype, e.result.data[i])) continue;
    const double off = std::fabs(value - e.result.data[i]) / (std::min(c.c, 4.0) * relative * scale);
    if (std::isfinite(off)) worst = std::max(worst, off);
  }
  return worst;
}

class OpOnGpu {
 public:
  OpOnGpu(CudaGpu& gpu, ThreadPool& pool, bool simd)
      : gpu_(gpu), cuda_(gpu, simd), soft_({"apple7", "", cuda_.traits().gpu}, pool, false) {}

  // Errors: what left the GPU unusable.
  Status run(const OpDef& op) {
    const std::vector<Case> cases = cases_of(op.name);
    const int64_t before = gpu_.launches;
    for (size_t i = 0; i < cases.size(); ++i) {
      for (const Variant& v : expand(cases[i], static_cast<int>(i))) CHIARO_TRY(run_variant(op, v));
    }
    std::printf("| %s | %s | %d | %d | %d | %.2f | %d | %lld |\n", std::string(op.name).c_str(),
                cuda_.traits().gpu.simd_reduce ? "simdgroup" : "threadgroup memory", ran_, refused_, failed_, worst_,
                same_bytes_, static_cast<long long>(gpu_.launches - before));
    std::fflush(stdout);
    return {};
  }
  bool passed() const { return failed_ == 0 && ran_ > 0; }

 private:
  Status run_variant(const OpDef& op, const Variant& v) {
    const auto out = v.infer();
    if (!out.ok()) return {};
    CHIARO_ASSIGN(const Expectation e, expectation(v, *out));
    for (const Kernel& kernel : cuda_.kernels(op.name)) {
      const VariantRun run = launch_variant(cuda_, kernel, v, *out, e.values);
      if (run.refused) {
        ++refused_;
        continue;
      }
      ++ran_;
      if (run.broken) {
        fail(v.text() + ": " + run.why);
        if (cuCtxSynchronize() == CUDA_SUCCESS) continue;
        return Error{ErrorCode::internal, "the GPU's context is lost", run.why, "", v.text()};
      }
      if (const auto wrong = wrong_with(v, e, run, kernel.name)) fail(*wrong);
      worst_ = std::max(worst_, used_tolerance(*v.source, e, run.output));
      const VariantRun soft = launch_variant(soft_, kernel, v, *out, e.values);
      same_bytes_ += !soft.refused && !soft.broken && soft.output == run.output ? 1 : 0;
    }
    return {};
  }

  void fail(const std::string& message) {
    if (++failed_ <= 5) std::printf("FAILED %s\n", message.c_str());
  }

  CudaGpu& gpu_;
  CudaDevice cuda_;
  SoftTestDevice soft_;
  int ran_ = 0, refused_ = 0, failed_ = 0, same_bytes_ = 0;
  double worst_ = 0;
};

int run_all(const std::string& folder, std::span<char* const> names) {
  auto gpu = CudaGpu::open(folder);
  if (!gpu.ok()) {
    std::printf("%s\n", gpu.error().format().c_str());
    return 1;
  }
  std::printf("# %s\n", (*gpu)->name().c_str());
  ThreadPool pool(2);
  bool passed = true;
  for (const Kernels& kernels : gpu_kernel_table()) {
    const std::string_view name = kernels.front().op;
    const bool wanted = std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
    if (!names.empty() && !wanted) continue;
    for (const bool simd : {true, false}) {
      OpOnGpu op(**gpu, pool, simd);
      if (const Status status = op.run(*find_op(name)); !status.ok()) {
        std::printf("%s\n", status.error().format().c_str());
        return 1;
      }
      passed = passed && op.passed();
    }
  }
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace chiaro::testing

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: %s MODULES [OP...]\n", argv[0]);
    return 2;
  }
  return chiaro::testing::run_all(argv[1], std::span(argv + 2, argv + argc));
}
