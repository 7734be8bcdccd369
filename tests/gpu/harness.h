// Launches the kernels of tests/gpu on the software GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "gpu/profile.h"
#include "gpu/soft/soft_gpu.h"
#include "gpu/test_args.h"

namespace chiaro {

namespace gpu::soft {
std::span<const KernelEntry> gpu_checked_kernels_faults();
std::span<const KernelEntry> gpu_fast_kernels_faults();
std::span<const KernelEntry> gpu_checked_kernels_faults_device();
std::span<const KernelEntry> gpu_fast_kernels_faults_device();
std::span<const KernelEntry> gpu_checked_kernels_legal();
std::span<const KernelEntry> gpu_fast_kernels_legal();
}  // namespace gpu::soft

inline std::vector<gpu::soft::Kernel> test_kernels() {
  std::vector<gpu::soft::Kernel> all;
  const auto add = [&](auto checked, auto fast) {
    for (size_t i = 0; i < checked.size(); ++i) all.push_back({&checked[i], &fast[i]});
  };
  add(gpu::soft::gpu_checked_kernels_faults(), gpu::soft::gpu_fast_kernels_faults());
  add(gpu::soft::gpu_checked_kernels_faults_device(), gpu::soft::gpu_fast_kernels_faults_device());
  add(gpu::soft::gpu_checked_kernels_legal(), gpu::soft::gpu_fast_kernels_legal());
  return all;
}

// A buffer of floats; nothing in it counts as written until set() is called.
struct TestBuffer {
  explicit TestBuffer(size_t n) : values(n), init(static_cast<int64_t>(n) * 4) {
    std::memset(values.data(), 0xFF, n * 4);
  }
  void set(const std::vector<float>& v) {
    values = v;
    init.mark(0, static_cast<int64_t>(v.size()) * 4, true);
  }
  SoftBuffer bind() {
    return {reinterpret_cast<std::byte*>(values.data()), static_cast<int64_t>(values.size()) * 4, &init, 0, 0};
  }
  std::vector<float> values;
  InitMap init;
};

class GpuHarness : public ::testing::Test {
 protected:
  static GpuDispatch dispatch(std::string_view kernel, size_t buffers, uint32_t groups = 2, uint32_t threads = 64) {
    GpuDispatch d;
    d.kernel = kernel;
    d.buffers.resize(buffers);
    d.set_args(TestArgs{64, 0});
    d.groups = {groups, 1, 1};
    d.threads = threads;
    return d;
  }
  // The kernels that write y[AT]: two threadgroups of 64 threads, y of 128 floats and x of 128 ones.
  Result<SoftCounts> run_y(std::string_view kernel, SoftGpu& gpu, const SoftOptions& options = {}) {
    GpuDispatch d = dispatch(kernel, 1);
    const SoftBuffer buffers[] = {y_.bind()};
    return gpu.run(d, buffers, options);
  }
  Result<SoftCounts> run_xy(std::string_view kernel, SoftGpu& gpu, const SoftOptions& options = {}) {
    GpuDispatch d = dispatch(kernel, 2);
    const SoftBuffer buffers[] = {x_.bind(), y_.bind()};
    return gpu.run(d, buffers, options);
  }
  void SetUp() override { x_.set(std::vector<float>(128, 1.0f)); }

  ThreadPool one_{1}, three_{3};
  std::vector<gpu::soft::Kernel> kernels_ = test_kernels();
  gpu::Traits traits_ = gpu::find_profile("apple7")->traits;
  SoftGpu gpu_{kernels_, traits_, one_}, parallel_{kernels_, traits_, three_};
  TestBuffer x_{128}, y_{128};
};

}  // namespace chiaro
