// The oracle reads weights of block types, also through a view of their rows.
#include <gtest/gtest.h>

#include "core/block_formats.h"
#include "graph/builder.h"
#include "ops/conformance/reference_eval.h"
#include "ops/matmul/op.h"
#include "ops/slice/op.h"

namespace chiaro {
namespace {

TEST(ReferenceBlocks, RowsOfABlockWeightAreItsDecodedNumbers) {
  for (const DType dtype : {DType::q4_0, DType::q8_0, DType::q4_k, DType::q6_k, DType::iq4_xs, DType::nvfp4}) {
    std::vector<float> values(4 * 256);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101) / 64.0f - 0.75f;
    auto weight = std::make_shared<TensorData>();
    weight->name = "w";
    weight->desc = dense(dtype, {4, 256});
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(weight->desc.dense_bytes()));
    encode_blocks(dtype, values.data(), 4 * 256, bytes->data());
    weight->bytes = bytes->data();
    weight->owner = bytes;
    decode_blocks(dtype, weight->bytes, 0, 4 * 256, values.data());

    GraphBuilder g;
    const Value x = g.input("x", dense(DType::f32, {1, 256}));
    g.output("y", matmul(g, x, slice(g, {.axis = 0, .start = 1, .end = 3}, g.weight(weight))));
    const auto graph = g.finish();
    ASSERT_TRUE(graph.ok()) << graph.error().format();
    std::vector<double> one(256, 0.0);
    one[200] = 1;  // picks column 200 of rows 1 and 2
    const auto outputs = evaluate_reference(*graph, std::vector<ReferenceInput>{{"x", one}});
    ASSERT_TRUE(outputs.ok()) << outputs.error().format();
    EXPECT_EQ(outputs->back().data, (std::vector<double>{values[256 + 200], values[512 + 200]})) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace chiaro
