// Case 18: a copy writes the column that it is asked to, whatever the strides on both sides, and nothing else; on the
// CPU and on GPUs, kernel by kernel and through the planner wherever target, source and writer are.
#include <gtest/gtest.h>

#include <array>

#include "gpu/op_run.h"
#include "graph/builder.h"
#include "ops/contiguous/op.h"
#include "ops/scale/op.h"
#include "ops/slice/op.h"
#include "ops/write/op.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

constexpr int64_t kRows = 8, kColumns = 16, kColumn = 3;  // bytes 12..15 of rows of 64 bytes

std::vector<float> eight() {
  std::vector<float> values(kRows);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return values;
}
void expect_one_column(const std::vector<float>& block, const std::string& where) {
  for (size_t i = 0; i < block.size(); ++i) {
    const float want = i % kColumns == kColumn ? static_cast<float>(i / kColumns) : 7.0f;
    ASSERT_EQ(block[i], want) << where << ", element " << i;
  }
}

class GpuStridedCopies : public ::testing::TestWithParam<const char*> {
 protected:
  ThreadPool pool_{2};
  SoftTestDevice device_{*gpu::find_profile(GetParam()), pool_};
};

TEST_P(GpuStridedCopies, AColumnOfAnEightBySixteenTable) {
  OpTensor table = OpTensor::of(DType::f32, {kRows, kColumns}, std::vector<float>(kRows * kColumns, 7.0f));
  table.desc = dense(DType::f32, {kRows, 1});
  table.desc.strides = {kColumns, 1};
  table.start = 12;
  const auto written = run_op<Write>(device_, {}, {table, OpTensor::of(DType::f32, {kRows, 1}, eight())});
  ASSERT_TRUE(written.ok()) << written.error().format();
  OpTensor whole = *written;
  whole.desc = dense(DType::f32, {kRows, kColumns});
  whole.start = 0;
  expect_one_column(whole.values(), GetParam());
}

using Perm = std::array<int, 3>;
constexpr Perm kPerms[] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
const Shape kPart{4, 3, 2}, kWhole{5, 4, 3};

// The window `kPart` at [1,1,1] of a block `kWhole` whose dimensions lie in memory in the order `perm`; filled with 7.
OpTensor window(DType dtype, const Perm& perm) {
  const auto count = static_cast<size_t>(element_count(kWhole));
  OpTensor t = OpTensor::of(dtype, {static_cast<int64_t>(count)}, std::vector<float>(count, 7.0f));
  t.desc = dense(dtype, kPart);
  int64_t step = 1, first = 0;
  for (int i = 2; i >= 0; --i) {
    const int d = perm[static_cast<size_t>(i)];
    t.desc.strides[d] = step;
    first += step;
    step *= kWhole[d];
  }
  t.start = first * unit_bytes(dtype);
  return t;
}

// All elements of the block but those of the window are still 7.
bool rest_is_seven(const OpTensor& t, DType dtype) {
  std::vector<bool> inside(static_cast<size_t>(element_count(kWhole)), false);
  const int64_t start = t.start / unit_bytes(dtype);
  for_each_element(t.desc, [&](int64_t, int64_t at) { inside[static_cast<size_t>(start + at)] = true; });
  for (size_t i = 0; i < inside.size(); ++i) {
    if (!inside[i] && load_element(dtype, t.block.data(), static_cast<int64_t>(i)) != 7) return false;
  }
  return true;
}

TEST_P(GpuStridedCopies, EveryOrderOfDimensionsOnBothSides) {
  std::vector<float> numbers(static_cast<size_t>(element_count(kPart)));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) - 9;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::i32}) {
    for (const Perm& from : kPerms) {
      OpTensor source = window(dtype, from);
      for_each_element(source.desc, [&](int64_t i, int64_t at) {
        store_element(dtype, source.block.data() + source.start, at, double{numbers[static_cast<size_t>(i)]});
      });
      const auto packed = run_op<Contiguous>(device_, {}, {source});
      ASSERT_TRUE(packed.ok()) << packed.error().format();
      ASSERT_EQ(packed->values(), numbers) << dtype_name(dtype);
      for (const Perm& to : kPerms) {
        const auto written = run_op<Write>(device_, {}, {window(dtype, to), source});
        ASSERT_TRUE(written.ok()) << written.error().format();
        ASSERT_EQ(written->values(), numbers) << dtype_name(dtype);
        ASSERT_TRUE(rest_is_seven(*written, dtype)) << dtype_name(dtype);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuStridedCopies, ::testing::ValuesIn(kProfiles), profile_name);

// The table and the numbers are results of `pins[0]` and `pins[1]`; `pins[2]` writes.
Graph column_graph(const std::array<std::string, 3>& pins) {
  GraphBuilder g;
  const Value table = g.input("table", dense(DType::f32, {kRows, kColumns}));
  const Value numbers = g.input("numbers", dense(DType::f32, {kRows, 1}));
  g.pin_next(pins[0]);
  const Value target = scale(g, {.scale = 1, .shift = 0}, table);
  g.pin_next(pins[1]);
  const Value source = scale(g, {.scale = 1, .shift = 0}, numbers);
  g.pin_next(pins[2]);
  write(g, slice(g, {.axis = 1, .start = kColumn, .end = kColumn + 1}, target), source);
  g.output("y", g.latest(target));
  return g.finish().value();
}

TEST(GpuStridedCopiesPlanned, AColumnWhereverTargetSourceAndWriterAre) {
  for (const char* gpu : {"softgpu:apple7", "softgpu:apple5-vm"}) {
    const std::array<std::string, 2> devices{gpu, "cpu"};
    EngineOptions options;
    options.threads = 1;
    options.devices = {devices[0], devices[1]};
    const auto engine = Engine::create(options).value();
    for (size_t placement = 0; placement < 8; ++placement) {
      const auto graph = column_graph({devices[placement & 1], devices[placement >> 1 & 1], devices[placement >> 2]});
      const auto plan = make_plan(graph, engine->devices());
      ASSERT_TRUE(plan.ok()) << plan.error().format();
      const auto executor = Executor::create(*engine, *plan);
      ASSERT_TRUE(executor.ok()) << executor.error().format();
      const std::vector<float> table(kRows * kColumns, 7.0f), numbers = eight();
      std::vector<float> y(table.size());
      const Binding in[] = {bind_port("table", std::span(table)), bind_port("numbers", std::span(numbers))};
      const Binding out = bind_port("y", std::span(y));
      const Status status = (*executor)->run(in, {&out, 1});
      ASSERT_TRUE(status.ok()) << status.error().format();
      expect_one_column(y, std::string(gpu) + " placement " + std::to_string(placement));
    }
  }
}

}  // namespace
}  // namespace chiaro
