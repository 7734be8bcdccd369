// Every elementwise and data-movement kernel against its reference, over dtypes and layouts, at sizes that leave tails
// and at sizes that make several chunks.
#include "core/floats.h"
#include "op_fixtures.h"
#include "ops/add/op.h"
#include "ops/add_/op.h"
#include "ops/cast/op.h"
#include "ops/concat/op.h"
#include "ops/contiguous/op.h"
#include "ops/custom/op.h"
#include "ops/div/op.h"
#include "ops/geglu/op.h"
#include "ops/gelu/op.h"
#include "ops/get_rows/op.h"
#include "ops/mul/op.h"
#include "ops/mul_/op.h"
#include "ops/quick_gelu/op.h"
#include "ops/scale/op.h"
#include "ops/sigmoid/op.h"
#include "ops/silu/op.h"
#include "ops/silu_/op.h"
#include "ops/sub/op.h"
#include "ops/swiglu/op.h"
#include "ops/tanh/op.h"
#include "ops/upsample_nearest/op.h"
#include "ops/write/op.h"

namespace chiaro::test {
namespace {

constexpr DType kActivations[] = {DType::f32, DType::f16, DType::bf16};
constexpr DType kPlain[] = {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8, DType::i32};
const Shape kShapes[] = {{1}, {7}, {3, 5, 2}, {2, 17, 33}, {5, 1, 70, 130}};

std::string label(const OpDef& op, const Tensor& x) {
  return std::string(op.name) + " of " + x.desc.text();
}

TEST(ElementwiseKernels, UnaryMatchReference) {
  std::mt19937 rng(1);
  const std::vector<std::pair<const OpDef*, AttrMap>> ops = {
      {&op_def_silu(), {}},
      {&op_def_gelu(), {}},
      {&op_def_gelu(), encode_attrs(Gelu::Attrs{.tanh = true})},
      {&op_def_quick_gelu(), {}},
      {&op_def_sigmoid(), {}},
      {&op_def_tanh(), {}},
      {&op_def_scale(), encode_attrs(Scale::Attrs{.scale = 0.5, .shift = -1.25})}};
  for (const auto& [op, attrs] : ops) {
    for (const DType dtype : kActivations) {
      for (const Layout layout : kLayouts) {
        for (const Shape& shape : kShapes) {
          const Tensor x = random_tensor(dtype, shape, layout, rng, -9, 9);
          check_op(*op, attrs, {in(x)}, label(*op, x));
        }
      }
    }
  }
}

TEST(ElementwiseKernels, GatedMatchReference) {
  std::mt19937 rng(2);
  const std::vector<std::pair<const OpDef*, AttrMap>> ops = {
      {&op_def_geglu(), {}},
      {&op_def_swiglu(), {}},
      {&op_def_swiglu(), encode_attrs(Swiglu::Attrs{.gate_first = false})}};
  for (const auto& [op, attrs] : ops) {
    for (const DType dtype : kActivations) {
      for (const Layout layout : kLayouts) {
        for (const Shape& shape : {Shape{2}, Shape{3, 5, 2}, Shape{2, 150, 66}}) {
          const Tensor x = random_tensor(dtype, shape, layout, rng);
          check_op(*op, attrs, {in(x)}, label(*op, x));
        }
      }
    }
  }
}

TEST(ElementwiseKernels, BinaryBroadcast) {
  std::mt19937 rng(3);
  const std::pair<Shape, Shape> shapes[] = {{{1}, {1}},
                                            {{2, 17, 33}, {2, 17, 33}},
                                            {{2, 17, 33}, {33}},
                                            {{2, 17, 33}, {2, 1, 33}},
                                            {{2, 17, 33}, {17, 1}},
                                            {{4, 1}, {1, 5}},
                                            {{33}, {2, 17, 33}},
                                            {{70, 130, 3}, {1}},
                                            {{1, 1, 1}, {2, 3}}};
  for (const OpDef* op : {&op_def_add(), &op_def_sub(), &op_def_mul(), &op_def_div()}) {
    for (const DType dtype : kActivations) {
      for (const DType weight : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8}) {
        for (const Layout layout : kLayouts) {
          for (const auto& [a_shape, b_shape] : shapes) {
            const Tensor a = random_tensor(dtype, a_shape, layout, rng);
            const Tensor b = random_tensor(weight, b_shape, layout, rng, 1, 3);
            check_op(*op, {}, {in(a), in(b)}, label(*op, a) + " with " + b.desc.text());
          }
        }
      }
    }
  }
}

// In place into every layout; what lies between the elements survives.
TEST(ElementwiseKernels, InPlaceIntoAnyView) {
  std::mt19937 rng(4);
  for (const OpDef* op : {&op_def_add_(), &op_def_mul_(), &op_def_silu_(), &op_def_write()}) {
    for (const DType dtype : kActivations) {
      for (const Layout layout : kLayouts) {
        for (const Shape& b_shape : {Shape{2, 37, 33}, Shape{33}, Shape{37, 1}, Shape{1}}) {
          Tensor a = random_tensor(dtype, {2, 37, 33}, layout, rng);
          const Tensor b = random_tensor(DType::f16, b_shape, Layout::permuted, rng);
          std::vector<In> inputs{in(a)};
          if (op != &op_def_silu_()) inputs.push_back(in(b));
          const std::vector<double> want = reference(*op, {}, inputs, a.desc);
          Tensor gaps = a;
          const Status status = run_kernel(*op, {}, inputs, a.desc, a.data());
          ASSERT_TRUE(status.ok()) << status.error().format();
          expect_close(a.values(), want, dtype, label(*op, a) + " with " + b.desc.text());
          for_each_element(a.desc, [&](int64_t, int64_t at) {
            std::memcpy(gaps.data() + at * unit_bytes(dtype), a.data() + at * unit_bytes(dtype),
                        static_cast<size_t>(unit_bytes(dtype)));
          });
          ASSERT_EQ(gaps.bytes, a.bytes) << label(*op, a) << ": wrote between its elements";
        }
      }
    }
  }
}

TEST(ElementwiseKernels, CastBetweenAllPlainDtypes) {
  std::mt19937 rng(5);
  for (const DType from : kPlain) {
    for (const DType to : kPlain) {
      for (const Layout layout : kLayouts) {
        const Tensor x = random_tensor(from, {3, 41, 35}, layout, rng, -200, 200);
        const AttrMap attrs = encode_attrs(Cast::Attrs{to});
        Tensor y = make_layout(to, x.desc.shape, Layout::dense);
        const Status status = run_kernel(op_def_cast(), attrs, {in(x)}, y.desc, y.data());
        ASSERT_TRUE(status.ok()) << status.error().format();
        Tensor want = y;
        const std::vector<double> values = x.values();
        for (size_t i = 0; i < values.size(); ++i) {
          store_element(to, want.data(), static_cast<int64_t>(i), values[i]);
        }
        ASSERT_EQ(want.bytes, y.bytes) << x.desc.text() << " to " << dtype_name(to);
      }
    }
  }
}

// Every half, and every f32 whose upper 20 bits differ, converts as core/floats.h says, bit by bit.
TEST(ElementwiseKernels, CastIsBitEqualToTheScalarConversions) {
  for (const DType small : {DType::f16, DType::bf16}) {
    Tensor x = make_layout(small, {65536}, Layout::dense);
    for (uint32_t i = 0; i < 65536; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      std::memcpy(x.data() + i * 2, &bits, 2);
    }
    Tensor wide = make_layout(DType::f32, {65536}, Layout::dense);
    ASSERT_TRUE(run_kernel(op_def_cast(), encode_attrs(Cast::Attrs{DType::f32}), {in(x)}, wide.desc, wide.data()).ok());
    for (uint32_t i = 0; i < 65536; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      const float want = small == DType::f16 ? f32_from_f16(bits) : f32_from_bf16(bits);
      float got = 0;
      std::memcpy(&got, wide.data() + i * 4, 4);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got));
      } else {
        ASSERT_EQ(bits_of(got), bits_of(want)) << i;
      }
    }
    Tensor f = make_layout(DType::f32, {1 << 20}, Layout::dense);
    for (uint32_t i = 0; i < (1u << 20); ++i) {
      const uint32_t bits = (i << 12) | (i * 2654435761u >> 20);  // the lower bits at random, halves and ties included
      const uint32_t tie = i % 3 == 0 ? (i << 12) : bits;
      std::memcpy(f.data() + i * 4, &tie, 4);
    }
    Tensor narrow = make_layout(small, {1 << 20}, Layout::dense);
    ASSERT_TRUE(run_kernel(op_def_cast(), encode_attrs(Cast::Attrs{small}), {in(f)}, narrow.desc, narrow.data()).ok());
    for (uint32_t i = 0; i < (1u << 20); ++i) {
      float value = 0;
      uint16_t got = 0;
      std::memcpy(&value, f.data() + i * 4, 4);
      std::memcpy(&got, narrow.data() + i * 2, 2);
      if (std::isnan(value)) continue;
      ASSERT_EQ(got, small == DType::f16 ? f16_from_f32(value) : bf16_from_f32(value)) << value;
    }
  }
}

TEST(MovementKernels, CopiesOfEveryLayout) {
  std::mt19937 rng(6);
  for (const DType dtype : kPlain) {
    for (const Layout layout : kLayouts) {
      for (const Shape& shape : {Shape{1}, Shape{3, 5, 2}, Shape{16, 48}, Shape{2, 17, 33}, Shape{2, 90, 3, 70}}) {
        const Tensor x = random_tensor(dtype, shape, layout, rng, -100, 100);
        check_op(op_def_contiguous(), {}, {in(x)}, "contiguous of " + x.desc.text());
      }
    }
  }
  // Transposes with a broadcast and a middle dimension; [2,40,19,24] seen as [2,24,19,40] and so on.
  const Tensor base = random_tensor(DType::f32, {2, 40, 19, 24}, Layout::dense, rng);
  for (const Dims& perm : {Dims{0, 3, 2, 1}, Dims{3, 1, 0, 2}, Dims{2, 3, 1, 0}, Dims{1, 0, 3, 2}, Dims{0, 2, 3, 1}}) {
    TensorDesc view = base.desc;
    for (int i = 0; i < 4; ++i) {
      view.shape[i] = base.desc.shape[static_cast<int>(perm[i])];
      view.strides[i] = base.desc.strides[static_cast<int>(perm[i])];
    }
    check_op(op_def_contiguous(), {}, {{view, base.data()}}, "contiguous of " + view.text());
    view.strides[1] = 0;
    check_op(op_def_contiguous(), {}, {{view, base.data()}}, "contiguous of " + view.text());
  }
}

TEST(MovementKernels, Concat) {
  std::mt19937 rng(7);
  for (const DType dtype : kPlain) {
    for (const Layout layout : kLayouts) {
      for (const int64_t axis : {0, 1, -1}) {
        std::vector<Tensor> parts;
        for (const int64_t extent : {3, 1, 40}) {
          Shape shape{20, 21, 22};
          shape[static_cast<int>(axis)] = extent;
          parts.push_back(random_tensor(dtype, shape, layout, rng, -100, 100));
        }
        check_op(op_def_concat(), encode_attrs(Concat::Attrs{axis}), {in(parts[0]), in(parts[1]), in(parts[2])},
                 "concat of " + parts[0].desc.text());
      }
    }
  }
}

TEST(MovementKernels, UpsampleNearest) {
  std::mt19937 rng(8);
  for (const DType dtype : {DType::f32, DType::f16, DType::i8}) {
    for (const Layout layout : kLayouts) {
      const Tensor x = random_tensor(dtype, {2, 5, 7, 3}, layout, rng, -100, 100);
      for (const auto& [h, w] : {std::pair{10, 14}, {5, 7}, {13, 9}, {3, 2}, {1, 1}, {64, 200}}) {
        check_op(op_def_upsample_nearest(), encode_attrs(UpsampleNearest::Attrs{h, w}), {in(x)},
                 x.desc.text() + " to " + std::to_string(h) + "x" + std::to_string(w));
      }
    }
  }
}

TEST(MovementKernels, GetRows) {
  std::mt19937 rng(9);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::i8}) {
    for (const DType to : kActivations) {
      for (const Layout layout : kLayouts) {
        const Tensor table = random_tensor(dtype, {11, 1500}, layout, rng);
        const Tensor ids = random_tensor(DType::i32, {2, 3, 5}, layout, rng, 0, 10);
        check_op(op_def_get_rows(), encode_attrs(GetRows::Attrs{to}), {in(table), in(ids)}, table.desc.text());
      }
    }
  }
}

TEST(MovementKernels, GetRowsRefusesRowsOutsideTheTable) {
  std::mt19937 rng(10);
  const Tensor table = random_tensor(DType::f32, {4, 8}, Layout::dense, rng);
  for (const int bad : {-1, 4, 2147483647, -2147483647 - 1}) {
    Tensor ids = make_layout(DType::i32, {3}, Layout::dense);
    for (int i = 0; i < 3; ++i) store_element(DType::i32, ids.data(), i, i == 1 ? bad : 0);
    Tensor y = make_layout(DType::f32, {3, 8}, Layout::dense);
    const Tensor before = y;
    const Status status =
        run_kernel(op_def_get_rows(), encode_attrs(GetRows::Attrs{}), {in(table), in(ids)}, y.desc, y.data());
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().what.find(std::to_string(bad)), std::string::npos);
    EXPECT_NE(status.error().why.find("0 to 3"), std::string::npos);
    EXPECT_EQ(y.bytes, before.bytes);
  }
}

TEST(Custom, RunsTheHostFunctionAndReportsItsErrors) {
  auto fn = std::make_shared<HostFunction>();
  fn->name = "sum_all";
  fn->infer = [](std::span<const TensorDesc>) -> Result<TensorDesc> { return dense(DType::f32, {1}); };
  fn->run = [](std::span<const HostTensor> inputs, const HostTensor& out) -> Status {
    double sum = 0;
    for (const HostTensor& x : inputs) {
      for_each_element(x.desc, [&](int64_t, int64_t at) { sum += load_element(x.desc.dtype, x.data, at); });
    }
    if (sum < 0) return Error{ErrorCode::usage, "negative", "", "", ""};
    if (sum > 1000) throw std::runtime_error("too much");
    store_element(out.desc.dtype, out.data, 0, sum);
    return {};
  };
  std::mt19937 rng(11);
  const AttrMap attrs = encode_attrs(Custom::Attrs{fn});
  const Tensor x = random_tensor(DType::f32, {4, 5}, Layout::permuted, rng, 0, 1);
  const Tensor y = random_tensor(DType::f16, {3}, Layout::stepped, rng, 0, 1);
  check_op(op_def_custom(), attrs, {in(x), in(y)}, "custom");
  const Tensor low = random_tensor(DType::f32, {4}, Layout::dense, rng, -2, -1);
  const Tensor high = random_tensor(DType::f32, {4}, Layout::dense, rng, 1e4, 2e4);
  Tensor out = make_layout(DType::f32, {1}, Layout::dense);
  EXPECT_EQ(run_kernel(op_def_custom(), attrs, {in(low)}, out.desc, out.data()).error().what, "negative");
  EXPECT_EQ(run_kernel(op_def_custom(), attrs, {in(high)}, out.desc, out.data()).error().why, "too much");
}

}  // namespace
}  // namespace chiaro::test
