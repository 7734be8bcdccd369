// Every kind of fault has a kernel that must be caught, on one host thread and on three, with a message that names the
// kernel, what it touched, the threads and the source line.
#include "gpu/harness.h"

namespace chiaro {
namespace {

struct Wrong {
  const char* kernel;
  size_t buffers;
  const char* what;  // the kind
  const char* why;   // a part of the details
};
void PrintTo(const Wrong& w, std::ostream* out) {
  *out << w.kernel;
}

class GpuFaults : public GpuHarness, public ::testing::WithParamInterface<Wrong> {};

TEST_P(GpuFaults, IsCaught) {
  const Wrong& wrong = GetParam();
  for (SoftGpu* gpu : {&gpu_, &parallel_}) {
    for (int round = 0; round < 3; ++round) {
      TestBuffer y(128);
      y_.values = y.values;
      y_.init.mark(0, 512, false);
      const auto result = wrong.buffers == 1 ? run_y(wrong.kernel, *gpu) : run_xy(wrong.kernel, *gpu);
      ASSERT_FALSE(result.ok()) << wrong.kernel;
      const Error& error = result.error();
      EXPECT_EQ(error.what, std::string("GPU kernel ") + wrong.kernel + ": " + wrong.what);
      EXPECT_NE(error.why.find(wrong.why), std::string::npos) << error.format();
      EXPECT_NE(error.where.find("kernel.gpu:"), std::string::npos) << error.format();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, GpuFaults,
    ::testing::Values(
        Wrong{"write_past_the_end", 1, "out of bounds",
              "buffer 0 (y) at byte 512, element 128 of 4 bytes; the buffer has 512"},
        Wrong{"read_before_the_start", 2, "out of bounds", "buffer 0 (x) at byte -4"},
        Wrong{"group_index_too_large", 1, "out of bounds", "threadgroup array t at element 64 of 64 (thread 63 of"},
        Wrong{"misaligned_cast", 2, "misaligned pointer", "a pointer into buffer x is cast to a type aligned to 16"},
        Wrong{"group_read_after_write", 1, "race on threadgroup memory",
              "no threadgroup_barrier(mem_threadgroup) between"},
        Wrong{"group_write_after_read", 1, "race on threadgroup memory",
              "t[0] is read by thread 1 of threadgroup 0 and written by thread 0"},
        Wrong{"group_write_after_write", 1, "race on threadgroup memory",
              "t[0] is written by thread 1 of threadgroup 0 and written by thread 0"},
        Wrong{"group_wrong_barrier", 1, "race on threadgroup memory", "is read by thread"},
        Wrong{"group_simd_barrier_only", 1, "race on threadgroup memory",
              "t[0] is read by thread 32 of threadgroup 0 and written by thread 0"},
        Wrong{"group_lucky_order", 1, "race on threadgroup memory", "t[0] is read by thread 1"},
        Wrong{"group_uninitialised", 1, "read before write", "t[1] is read by thread 1"},
        Wrong{"two_groups_write", 1, "race on device memory", "nothing orders threadgroups"},
        Wrong{"device_no_barrier", 1, "read before write", "buffer 0 (y) at byte 4"},
        Wrong{"device_wrong_barrier", 1, "race on device memory", "no threadgroup_barrier(mem_device) between"},
        Wrong{"device_uninitialised", 1, "read before write",
              "buffer 0 (y) at byte 0, element 0 of 4 bytes is read by thread 0"},
        Wrong{"divergent_barrier", 1, "divergent barrier", "thread 0 waits at the barrier of line"},
        Wrong{"early_return", 1, "divergent barrier", "thread 32 has ended"},
        Wrong{"divergent_simd", 1, "divergent simdgroup operation", "thread 7 has ended"},
        Wrong{"broadcast_of_two_lanes", 1, "divergent simdgroup operation", "from lane 0 and from lane 1"},
        Wrong{"shuffle_too_far", 1, "out of bounds", "from lane 32 in lane 31"},
        Wrong{"undeclared_simd", 1, "undeclared feature", "NEEDS_SIMD_REDUCE"},
        Wrong{"undeclared_barrier", 1, "undeclared feature", "NEEDS_BARRIER"},
        Wrong{"undeclared_matrix", 1, "undeclared feature", "NEEDS_SIMD_MATRIX"},
        Wrong{"undeclared_memory", 1, "threadgroup memory",
              "declares 240 bytes of threadgroup memory; t brings it to 256"}),
    [](const auto& one) { return std::string(one.param.kernel); });

// The verdict does not depend on the order in which threads run: another may be named, and what one order calls a race
// another may see as a read of what is not written yet.
TEST_P(GpuFaults, IsCaughtInEveryOrder) {
  const Wrong& wrong = GetParam();
  for (uint32_t schedule = 1; schedule < 17; ++schedule) {
    y_.init.mark(0, 512, false);
    SoftOptions options;
    options.schedule = schedule;
    const auto result = wrong.buffers == 1 ? run_y(wrong.kernel, gpu_, options) : run_xy(wrong.kernel, gpu_, options);
    ASSERT_FALSE(result.ok()) << wrong.kernel << " in order " << schedule;
    EXPECT_EQ(result.error().what.rfind(std::string("GPU kernel ") + wrong.kernel + ": ", 0), 0u);
  }
}

class GpuFaultsOfLaunches : public GpuHarness {
 protected:
  void expect(const Result<SoftCounts>& result, const std::string& text) {
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_NE(result.error().format().find(text), std::string::npos) << result.error().format();
  }
};

TEST_F(GpuFaultsOfLaunches, BetweenThreadgroupsThatReadAndWrite) {
  for (SoftGpu* gpu : {&gpu_, &parallel_}) {
    y_.set(std::vector<float>(128, 1.0f));
    expect(run_y("group_reads_what_another_writes", *gpu), "race on device memory");
  }
}

TEST_F(GpuFaultsOfLaunches, NeighboursInPlace) {
  const SoftBuffer both[] = {x_.bind(), x_.bind()};
  expect(gpu_.run(dispatch("in_place_neighbour", 2), both), "race on device memory");
}

TEST_F(GpuFaultsOfLaunches, WithinAThreadgroupWithoutABarrier) {
  y_.set(std::vector<float>(128, 1.0f));
  expect(run_y("device_no_barrier", gpu_), "no threadgroup_barrier(mem_device) between");
}

TEST_F(GpuFaultsOfLaunches, UnboundBuffersAndConstants) {
  const SoftBuffer buffers[] = {SoftBuffer{}, y_.bind()};
  expect(gpu_.run(dispatch("unbound", 2), buffers), "access to a buffer that is not bound");
  expect(run_y("constant_missing", gpu_), "function constant 0 is a uint; the launch gives no value");
  GpuDispatch d = dispatch("constant_missing", 1);
  d.constants = {true};
  const SoftBuffer y[] = {y_.bind()};
  expect(gpu_.run(d, y), "function constant 0 is a uint; the launch gives a bool");
  d.constants = {7u};
  EXPECT_TRUE(gpu_.run(d, y).ok());
  EXPECT_EQ(y_.values[5], 7.0f);
}

TEST_F(GpuFaultsOfLaunches, WrongArguments) {
  const SoftBuffer y[] = {y_.bind()};
  expect(gpu_.run(dispatch("no_such_kernel", 1), y), "there is no such kernel");
  GpuDispatch d = dispatch("two_groups_write", 1);
  d.args.resize(4);
  expect(gpu_.run(d, y), "its argument struct has 8 bytes, the launch gives 4");
  expect(gpu_.run(dispatch("two_groups_write", 0), {}), "it takes a buffer at slot 0, the launch binds 0");
}

TEST_F(GpuFaultsOfLaunches, WhatTheProfileDoesNotHave) {
  const SoftBuffer y[] = {y_.bind()};
  expect(gpu_.run(dispatch("two_groups_write", 1, 2, 48), y), "48 threads a threadgroup");
  expect(gpu_.run(dispatch("two_groups_write", 1, 2, 2048), y), "2048 threads a threadgroup");
  expect(gpu_.run(dispatch("two_groups_write", 1, 0), y), "a grid of 0 x 1 x 1");
  expect(gpu_.run(dispatch("too_much_memory", 1), y), "40960 bytes of threadgroup memory; the GPU has 32768");
  SoftGpu old(kernels_, gpu::find_profile("apple5-vm")->traits, one_);
  expect(old.run(dispatch("divergent_simd", 1), y), "it needs simdgroup reductions, which this GPU lacks");
}

TEST_F(GpuFaultsOfLaunches, TimeLimits) {
  SoftOptions options;
  options.real_seconds = 0.2;
  expect(run_y("endless", gpu_, options), "GPU kernel endless: time limit");
  GpuDispatch d = dispatch("two_groups_write", 1);
  d.flops = 1e13;
  const SoftBuffer y[] = {y_.bind()};
  expect(gpu_.run(d, y), "GPU kernel two_groups_write cannot be launched");
  expect(gpu_.run(d, y), "the limit is 2000");
}

// docs/kernels.md tells this story: group norm's second sum overwrites what the first one's slow threads still read.
TEST_F(GpuFaultsOfLaunches, GroupNormsMissingBarrier) {
  for (SoftGpu* gpu : {&gpu_, &parallel_}) {
    const auto result = run_xy("moments_without_barrier", *gpu);
    expect(result, "race on threadgroup memory");
    expect(result, "red[0] is read by thread 32 of threadgroup 0 and written by thread 0");
  }
}

}  // namespace
}  // namespace chiaro
