// In-place ops whose second input shares memory with the first, refusals, and independence of an element's place.
#include "op_fixtures.h"
#include "ops/add/op.h"
#include "ops/add_/op.h"
#include "ops/cast/op.h"
#include "ops/concat/op.h"
#include "ops/contiguous/op.h"
#include "ops/geglu/op.h"
#include "ops/gelu/op.h"
#include "ops/get_rows/op.h"
#include "ops/mul_/op.h"
#include "ops/silu/op.h"
#include "ops/upsample_nearest/op.h"
#include "ops/write/op.h"

namespace chiaro::test {
namespace {

struct Pair {
  std::string what;
  TensorDesc a, b;
  int64_t a_offset, b_offset;  // in elements
};

// Two views of one block of 64 * 64 elements.
std::vector<Pair> overlapping(DType dtype) {
  const auto view = [&](Shape shape, Strides strides) { return TensorDesc{dtype, shape, strides}; };
  return {
      {"itself", view({64, 64}, {64, 1}), view({64, 64}, {64, 1}), 0, 0},
      {"its transpose", view({64, 64}, {64, 1}), view({64, 64}, {1, 64}), 0, 0},
      {"its first column", view({64, 64}, {64, 1}), view({64, 1}, {64, 1}), 0, 0},
      {"its last row", view({64, 64}, {64, 1}), view({64}, {1}), 0, 63 * 64},
      {"its first element", view({64, 64}, {64, 1}), view({1}, {1}), 0, 0},
      {"the next elements", view({4000}, {1}), view({4000}, {1}), 0, 7},
      {"the elements before", view({4000}, {1}), view({4000}, {1}), 7, 0},
      {"the other half", view({64, 32}, {64, 1}), view({64, 32}, {64, 1}), 0, 32},
      {"every second element", view({2000}, {2}), view({2000}, {2}), 1, 0},
      {"backwards rows, as far as strides go", view({32, 64}, {64, 1}), view({32, 64}, {64, 1}), 0, 16 * 64},
  };
}

// The result is as if b was read whole before a is written.
TEST(Aliasing, SecondInputMayShareMemoryWithTheFirst) {
  for (const OpDef* op : {&op_def_add_(), &op_def_mul_(), &op_def_write()}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      for (const Pair& pair : overlapping(dtype)) {
        std::mt19937 rng(1);
        Tensor block = random_tensor(dtype, {64 * 64}, Layout::dense, rng);
        std::byte* a = block.data() + pair.a_offset * unit_bytes(dtype);
        const std::byte* b = block.data() + pair.b_offset * unit_bytes(dtype);
        const Tensor before = block;
        const std::vector<In> old = {{pair.a, before.data() + pair.a_offset * unit_bytes(dtype)},
                                     {pair.b, before.data() + pair.b_offset * unit_bytes(dtype)}};
        Tensor want = before;
        const std::vector<double> values = reference(*op, {}, old, pair.a);
        for_each_element(pair.a, [&](int64_t i, int64_t at) {
          store_element(dtype, want.data(), pair.a_offset + at, values[static_cast<size_t>(i)]);
        });
        const Status status = run_kernel(*op, {}, {{pair.a, a}, {pair.b, b}}, pair.a, a);
        ASSERT_TRUE(status.ok()) << status.error().format();
        expect_close(block.values(), want.values(), dtype, std::string(op->name) + " with " + pair.what);
      }
    }
  }
}

// The bits of a result do not depend on where the element stands, on how many there are, or on the number of threads.
TEST(Aliasing, PlaceAndThreadsDoNotMatter) {
  std::mt19937 rng(2);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Tensor x = random_tensor(dtype, {40001}, Layout::dense, rng, -12, 12);
    const int64_t unit = unit_bytes(dtype);
    for (const OpDef* op : {&op_def_silu(), &op_def_gelu()}) {
      const AttrMap attrs = op->default_attrs;
      Tensor whole = make_layout(dtype, x.desc.shape, Layout::dense), again = whole;
      ASSERT_TRUE(run_kernel(*op, attrs, {in(x)}, whole.desc, whole.data(), 1).ok());
      ASSERT_TRUE(run_kernel(*op, attrs, {in(x)}, again.desc, again.data(), 3).ok());
      ASSERT_EQ(whole.bytes, again.bytes);
      for (int64_t start = 0; start < 2000; start += 1 + start % 7) {
        const TensorDesc part = dense(dtype, {1 + start % 23});
        std::vector<std::byte> y(static_cast<size_t>(part.dense_bytes()));
        ASSERT_TRUE(run_kernel(*op, attrs, {{part, x.data() + start * unit}}, part, y.data()).ok());
        ASSERT_EQ(0, std::memcmp(y.data(), whole.data() + start * unit, y.size())) << op->name << " at " << start;
      }
    }
  }
}

TEST(Refusals, SayWhatIsWrong) {
  const auto refused = [](const OpDef& op, const AttrMap& attrs, const std::vector<TensorDesc>& descs) {
    std::vector<const TensorDesc*> in;
    for (const TensorDesc& d : descs) in.push_back(&d);
    const auto out = op.infer(attrs, in);
    return out.ok() ? std::string("accepted") : out.error().what + ": " + out.error().why;
  };
  const TensorDesc f = dense(DType::f32, {2, 3}), i = dense(DType::i32, {2, 3}), q = dense(DType::q8_0, {2, 64});
  EXPECT_EQ(refused(op_def_silu(), {}, {i}), "silu refuses i32[2,3]: it is not a floating point tensor");
  EXPECT_EQ(refused(op_def_add(), {}, {f, dense(DType::f32, {4})}),
            "add refuses f32[2,3] with f32[4]: dimension -1 is 3 against 4");
  EXPECT_EQ(refused(op_def_add_(), {}, {dense(DType::f32, {3}), f}),
            "add_ refuses f32[3] with f32[2,3]: the result would be [2,3], but it must fit into the first");
  EXPECT_EQ(refused(op_def_geglu(), {}, {f}), "geglu refuses f32[2,3]: its last dimension has no two halves");
  EXPECT_EQ(refused(op_def_write(), {}, {f, i}),
            "write refuses i32[2,3] into f32[2,3]: the dtypes differ and are not both floating point");
  EXPECT_EQ(refused(op_def_concat(), encode_attrs(Concat::Attrs{0}), {f, dense(DType::f32, {2, 4})}),
            "concat refuses f32[2,4] after f32[2,3]: they must agree in dtype and in all dimensions but axis 0");
  EXPECT_EQ(refused(op_def_cast(), encode_attrs(Cast::Attrs{DType::f32}), {q}),
            "cast refuses q8_0[2,64] to f32: block-quantised types have no single elements");
  EXPECT_EQ(refused(op_def_get_rows(), encode_attrs(GetRows::Attrs{}), {f, f}),
            "get_rows refuses f32[2,3] of f32[2,3]: the row numbers are not i32");
  EXPECT_EQ(
      refused(op_def_upsample_nearest(), encode_attrs(UpsampleNearest::Attrs{0, 4}), {dense(DType::f32, {1, 2, 2, 1})}),
      "upsample_nearest refuses f32[1,2,2,1] to height=0 width=4: height and width must be from 1 to 2^30");
}

// What infer() allows for other backends, the CPU kernels refuse by value where they do not take it.
TEST(Refusals, KernelsRefuseBlockTypesAndByteActivations) {
  const TensorDesc q = dense(DType::q8_0, {2, 64}), f8 = dense(DType::f8_e4m3, {2, 64});
  std::byte nothing[256] = {};
  EXPECT_FALSE(run_kernel(op_def_contiguous(), {}, {{q, nothing}}, q, nothing).ok());
  EXPECT_FALSE(run_kernel(op_def_silu(), {}, {{f8, nothing}}, f8, nothing).ok());
  EXPECT_FALSE(run_kernel(op_def_add(), {}, {{f8, nothing}, {f8, nothing}}, f8, nothing).ok());
}

TEST(GetRows, TakesTablesOfBlocks) {
  const TensorDesc q = dense(DType::q8_0, {2, 64}), ids = dense(DType::i32, {1}), f = dense(DType::f32, {1, 64});
  std::byte zeros[256] = {};
  std::vector<float> row(64, 1.0F);
  ASSERT_TRUE(run_kernel(op_def_get_rows(), encode_attrs(GetRows::Attrs{}), {{q, zeros}, {ids, zeros}}, f,
                         reinterpret_cast<std::byte*>(row.data()))
                  .ok());
  EXPECT_EQ(row, std::vector<float>(64, 0.0F));
}

TEST(Empty, TensorsWithoutElementsAreLeftAlone) {
  std::byte nothing[8] = {};
  const TensorDesc none = dense(DType::f32, {2, 0, 3});
  EXPECT_TRUE(run_kernel(op_def_silu(), {}, {{none, nothing}}, none, nothing).ok());
  EXPECT_TRUE(run_kernel(op_def_add_(), {}, {{none, nothing}, {none, nothing}}, none, nothing).ok());
  EXPECT_TRUE(run_kernel(op_def_contiguous(), {}, {{none, nothing}}, none, nothing).ok());
  EXPECT_TRUE(run_kernel(op_def_write(), {}, {{none, nothing}, {dense(DType::f32, {1}), nothing}}, none, nothing).ok());
}

}  // namespace
}  // namespace chiaro::test
