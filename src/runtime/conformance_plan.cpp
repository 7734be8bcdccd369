// A variant as a graph: dense sources, views that make its layouts, the op; planned and run by an Executor.
#include <cstring>

#include "core/tensor.h"
#include "graph/builder.h"
#include "ops/broadcast/op.h"
#include "ops/conformance/variants.h"
#include "ops/permute/op.h"
#include "ops/slice/op.h"
#include "runtime/conformance_run.h"
#include "runtime/executor.h"

namespace chiaro {
namespace {

constexpr auto kPoison = std::byte{0xFF};

// A dense block in memory, of the shape whose views make the layout.
struct Source {
  std::string name;
  TensorDesc desc;
  std::vector<std::byte> bytes;
};

// The shape of the block behind `in`, outermost dimension in memory first.
Shape block_shape(const VariantInput& in) {
  const Shape& shape = in.desc.shape;
  const int rank = shape.rank();
  Shape block = shape;
  switch (in.layout) {
    case Layout::permuted:
      for (int d = 0; d < rank; ++d) block[d] = shape[rank - 1 - d];
      break;
    case Layout::rotated:
      for (int d = 0; d < rank; ++d) block[d] = shape[(d + rank - 1) % rank];
      break;
    case Layout::sliced:
      for (int d = 0; d < rank; ++d) block[d] += d == rank - 1 ? 3 : 1;
      break;
    case Layout::stepped: block[-1] *= 2; break;
    case Layout::stretched: block[in.broadcast_dim] = 1; break;
    case Layout::contiguous:
    case Layout::misaligned: break;
  }
  return block;
}

// The views that lead from the block to `in`.
Value view(GraphBuilder& g, Value block, const VariantInput& in) {
  const Shape& shape = in.desc.shape;
  const int rank = shape.rank();
  Dims perm;
  switch (in.layout) {
    case Layout::permuted:
      for (int d = 0; d < rank; ++d) perm.push_back(rank - 1 - d);
      return permute(g, {.perm = perm}, block);
    case Layout::rotated:
      for (int d = 0; d < rank; ++d) perm.push_back((d + 1) % rank);
      return permute(g, {.perm = perm}, block);
    case Layout::sliced:
      for (int d = 0; d < rank; ++d) {
        const int64_t start = d == rank - 1 ? 1 : 0;
        block = slice(g, {.axis = d, .start = start, .end = start + shape[d]}, block);
      }
      return block;
    case Layout::stepped: return slice(g, {.axis = rank - 1, .start = 0, .end = 2 * shape[-1], .step = 2}, block);
    case Layout::stretched: return broadcast(g, {.shape = shape}, block);
    case Layout::contiguous:
    case Layout::misaligned: break;
  }
  return block;
}

Source make_block(const Variant& v, size_t i, const std::vector<double>& values) {
  const VariantInput& in = v.inputs[i];
  if (is_block(in.desc.dtype)) return {"in" + std::to_string(i), in.desc, variant_blocks(v, i)};
  Source block{"in" + std::to_string(i), dense(in.desc.dtype, block_shape(in)), {}};
  block.bytes.assign(static_cast<size_t>(block.desc.dense_bytes()), kPoison);
  const int64_t offset = in.layout == Layout::sliced ? in.offset : 0;
  for_each_element(in.desc, [&](int64_t element, int64_t at) {
    store_element(in.desc.dtype, block.bytes.data(), offset + at, values[static_cast<size_t>(element)]);
  });
  return block;
}

TensorDataPtr weight_data(const Source& block) {
  auto data = std::make_shared<TensorData>();
  auto bytes = std::make_shared<std::vector<std::byte>>(block.bytes);
  data->name = block.name;
  data->desc = block.desc;
  data->bytes = bytes->data();
  data->owner = bytes;
  return data;
}

Result<Graph> build(const Variant& v, std::vector<Source>& blocks, std::span<const std::vector<double>> values) {
  GraphBuilder g;
  std::vector<Value> inputs;
  blocks.reserve(v.inputs.size());
  for (size_t i = 0; i < v.inputs.size(); ++i) {
    if (!v.inputs[i].present) {
      inputs.push_back(kNone);
      continue;
    }
    Source block = make_block(v, i, values[i]);
    const bool weight = v.source->inputs[i].weight;
    const Value source = weight ? g.weight(weight_data(block)) : g.input(block.name, block.desc);
    if (!weight) blocks.push_back(std::move(block));
    inputs.push_back(view(g, source, v.inputs[i]));
  }
  g.output("out", g.add(*v.source->op, v.source->attrs, std::move(inputs)));
  return g.finish();
}

Result<std::vector<std::byte>> execute(Engine& engine, std::shared_ptr<const ExecutionPlan> plan,
                                       const std::vector<Source>& blocks, const TensorDesc& out) {
  CHIARO_ASSIGN(auto executor, Executor::create(engine, std::move(plan)));
  std::vector<Binding> inputs;
  for (const Source& block : blocks) inputs.push_back(bind_port(block.name, std::span<const std::byte>(block.bytes)));
  std::vector<std::byte> bytes(static_cast<size_t>(out.dense_bytes()), kPoison);
  const Binding output = bind_port("out", std::span(bytes));
  CHIARO_TRY(executor->run(inputs, {&output, 1}));
  return bytes;
}

}  // namespace

VariantRun plan_variant(Engine& engine, Device& device, const Variant& v, const TensorDesc& out,
                        std::span<const std::vector<double>> values) {
  VariantRun run;
  std::vector<Source> blocks;
  const auto graph = build(v, blocks, values);
  if (!graph.ok()) {
    run.broken = true;
    run.why = "the graph could not be built: " + graph.error().format();
    return run;
  }
  Device* devices[] = {&device};
  auto plan = make_plan(*graph, devices);
  if (!plan.ok()) {
    run.refused = true;
    run.why = plan.error().format();
    return run;
  }
  auto bytes = execute(engine, *plan, blocks, out);
  if (!bytes.ok()) {
    run.broken = true;
    run.why = "the plan did not run: " + bytes.error().format();
    return run;
  }
  run.output = std::move(bytes).value();
  return run;
}

}  // namespace chiaro
