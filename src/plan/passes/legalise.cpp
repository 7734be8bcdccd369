// legalise: after it every compute node has a kernel on its device, and FP8 weights that no kernel takes are weights of
// a wider type.
#include "plan/passes/legaliser.h"

#include "ops/cast/op.h"
#include "ops/contiguous/op.h"
#include "ops/write/op.h"
#include "plan/passes/stage_casts.h"
#include "plan/rewriter.h"

namespace chiaro {
namespace {

constexpr int kMaxDepth = 16;  // decompositions nest; a cycle among them would be our own mistake
constexpr int64_t kArenaAlignment = 64;

bool is_fp8(DType dtype) {
  return dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2;
}

// What FP8 becomes where a kernel refuses it: bf16, or f16 on a GPU without bf16 arithmetic. Both hold every FP8
// number.
DType wider_than_fp8(const DeviceTraits& traits) {
  const bool gpu = traits.gpu.tflops_f32 > 0;
  return gpu && !traits.gpu.bf16 ? DType::f16 : DType::bf16;
}

}  // namespace

Value Legaliser::emit(const OpDef& op, const AttrMap& attrs, std::vector<Value> inputs, int depth) {
  if (builder_.failed()) return kNone;
  if (op.kind == OpKind::view) return builder_.add(op, attrs, std::move(inputs));
  Status refusal = supported(op, attrs, inputs);
  if (refusal.ok()) return builder_.add(op, attrs, std::move(inputs));
  if (depth >= kMaxDepth) return builder_.fail(std::move(refusal).error());
  if (const auto dense_inputs = with_copies(op, attrs, inputs)) return builder_.add(op, attrs, *dense_inputs);
  if (const auto wider = with_casts(op, attrs, inputs)) return builder_.add(op, attrs, *wider);
  if (op.kind == OpKind::inplace && &op != &op_def_write() && !builder_.desc(inputs[0]).contiguous()) {
    return write_back(op, attrs, std::move(inputs), depth);
  }
  if (op.decompose != nullptr) return decompose(op, attrs, inputs, depth);
  return builder_.fail(std::move(refusal).error());
}

Status Legaliser::supported(const OpDef& op, const AttrMap& attrs, const std::vector<Value>& inputs) const {
  std::vector<Operand> operands;
  for (const Value v : inputs) operands.push_back(operand(v));
  return check(op, attrs, operands);
}

Status Legaliser::check(const OpDef& op, const AttrMap& attrs, const std::vector<Operand>& operands) const {
  std::vector<const TensorDesc*> descs;
  for (const Operand& o : operands) descs.push_back(o.present ? &o.desc : nullptr);
  CHIARO_ASSIGN(const TensorDesc inferred, op.infer(attrs, descs));
  const Operand out = op.kind == OpKind::inplace ? operands[0] : Operand{inferred, kArenaAlignment, true};
  CHIARO_TRY(choose_kernel(device_, op, attrs, operands, out));
  return {};
}

Operand Legaliser::operand(Value v) const {
  if (!v.valid()) return {.desc = {}, .alignment = 1, .present = false};
  return {builder_.desc(v), 1, true};
}

// The target of a write is never copied: its memory is the result.
std::optional<std::vector<Value>> Legaliser::with_copies(const OpDef& op, const AttrMap& attrs,
                                                         std::vector<Value> inputs) {
  std::vector<Operand> operands;
  bool any = false;
  const size_t first = op.kind == OpKind::inplace ? 1 : 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    operands.push_back(operand(inputs[i]));
    Operand& o = operands.back();
    if (i < first || !o.present || o.desc.contiguous()) continue;
    if (!supported(op_def_contiguous(), {}, {inputs[i]}).ok()) return std::nullopt;
    o = {dense(o.desc.dtype, o.desc.shape), kArenaAlignment, true};
    any = true;
  }
  if (!any || !check(op, attrs, operands).ok()) return std::nullopt;
  for (size_t i = first; i < inputs.size(); ++i) {
    Value& v = inputs[i];
    if (!v.valid() || builder_.desc(v).contiguous()) continue;
    v = contiguous(builder_, v);
    ++changes_;
  }
  return inputs;
}

// The result keeps its type, so only operands that do not decide it are cast: weights.
std::optional<std::vector<Value>> Legaliser::with_casts(const OpDef& op, const AttrMap& attrs,
                                                        std::vector<Value> inputs) {
  const DType wider = wider_than_fp8(device_.traits());
  std::vector<Operand> operands;
  std::vector<const TensorDesc*> before, after;
  for (const Value v : inputs) {
    operands.push_back(operand(v));
    before.push_back(v.valid() ? &builder_.desc(v) : nullptr);
  }
  std::vector<size_t> cast_inputs;
  for (size_t i = op.kind == OpKind::inplace ? 1 : 0; i < inputs.size(); ++i) {
    Operand& o = operands[i];
    if (!o.present || !is_fp8(o.desc.dtype)) continue;
    if (!supported(op_def_cast(), encode_attrs(Cast::Attrs{.dtype = wider}), {inputs[i]}).ok()) return std::nullopt;
    o = {dense(wider, o.desc.shape), kArenaAlignment, true};
    cast_inputs.push_back(i);
  }
  if (cast_inputs.empty() || !check(op, attrs, operands).ok()) return std::nullopt;
  for (const Operand& o : operands) after.push_back(o.present ? &o.desc : nullptr);
  const auto was = op.infer(attrs, before), is = op.infer(attrs, after);
  if (!was.ok() || !is.ok() || was->dtype != is->dtype) return std::nullopt;
  const GraphBuilder::Scope scope(builder_, "from_fp8");
  for (const size_t i : cast_inputs) {
    inputs[i] = cast(builder_, {.dtype = wider}, inputs[i]);
    ++changes_;
  }
  return inputs;
}

Value Legaliser::write_back(const OpDef& op, const AttrMap& attrs, std::vector<Value> inputs, int depth) {
  const Value target = inputs[0];
  ++changes_;
  inputs[0] = emit(op_def_contiguous(), {}, {target}, depth + 1);
  return emit(op_def_write(), {}, {target, emit(op, attrs, std::move(inputs), depth + 1)}, depth + 1);
}

Value Legaliser::decompose(const OpDef& op, const AttrMap& attrs, const std::vector<Value>& inputs, int depth) {
  // Into a graph of its own first, whose nodes are then made legal one by one.
  GraphBuilder part;
  std::vector<Value> ports;
  for (const Value v : inputs) ports.push_back(v.valid() ? part.input("", builder_.desc(v)) : kNone);
  part.output("", op.decompose(part, attrs, ports));
  auto graph = part.finish();
  if (!graph.ok()) return builder_.fail(std::move(graph).error());
  ++changes_;
  std::vector<Value> map(graph->values().size(), kNone);
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].valid()) map[static_cast<size_t>(ports[i].id)] = inputs[i];
  }
  for (const Node& node : graph->nodes()) {
    std::vector<Value> mapped;
    for (const Value v : node.inputs) mapped.push_back(v.valid() ? map[static_cast<size_t>(v.id)] : kNone);
    map[static_cast<size_t>(node.output.id)] = emit(*node.op, node.attrs, std::move(mapped), depth + 1);
  }
  return map[static_cast<size_t>(graph->outputs().front().value.id)];
}

Result<Graph> pass_legalise(const Graph& graph, PassContext& context) {
  Rewriter rewriter(graph);
  GraphBuilder& builder = rewriter.builder();
  for (const Node& node : graph.nodes()) {
    builder.set_module(node.module);
    builder.pin_next(node.pin);
    builder.place(node.device, node.moved, node.on_copy);
    const int32_t at = node.op->kind == OpKind::view ? 0 : context.find(node.device);
    if (at < 0)
      return Error{ErrorCode::internal, "legalise: a node has no device", std::string(node.op->name), "", node.label};
    Legaliser legaliser(*context.devices[static_cast<size_t>(at)], builder, context.changes);
    const GraphBuilder::Scope scope(builder, node.label);
    rewriter.map(node.output, legaliser.emit(*node.op, node.attrs, rewriter.mapped_inputs(node)));
  }
  CHIARO_ASSIGN(const Graph legal, rewriter.finish());
  return stage_casts(legal, context);
}

}  // namespace chiaro
