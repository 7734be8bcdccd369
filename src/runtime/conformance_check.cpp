#include "runtime/conformance_check.h"

#include <algorithm>
#include <cmath>

#include "ops/conformance/reference_eval.h"
#include "ops/conformance/tolerance.h"

namespace chiaro {
namespace {

// Both are in double: only the order of sums may differ.
Status decomposition_agrees(const RefTensor& parts, const RefTensor& whole) {
  const double bound = 1e-6 * std::max(largest_finite(whole), 1e-30);
  bool same = parts.shape == whole.shape;
  for (size_t i = 0; same && i < whole.data.size(); ++i) {
    const double a = parts.data[i], b = whole.data[i];
    same = a == b || std::fabs(a - b) <= bound || (std::isnan(a) && std::isnan(b));
  }
  if (same) return {};
  return Error{ErrorCode::internal, "the decomposition differs from the reference", "", "", ""};
}

// A view of dense doubles.
Result<RefTensor> viewed(const Variant& v, const RefTensor& x) {
  const TensorDesc from = dense(v.inputs[0].desc.dtype, x.shape);
  const TensorDesc* pointer = &from;
  CHIARO_ASSIGN(const ViewResult view, v.source->op->view(v.source->attrs, {&pointer, 1}));
  RefTensor out{view.desc.shape, std::vector<double>(static_cast<size_t>(view.desc.count())), true};
  const int64_t start = view.offset_bytes / unit_bytes(from.dtype);
  for_each_element(view.desc, [&](int64_t i, int64_t at) {
    out.data[static_cast<size_t>(i)] = x.data[static_cast<size_t>(start + at)];
  });
  return out;
}

}  // namespace

std::vector<Case> cases_of(std::string_view op) {
  Cases cases;
  for (const CaseTableEntry& entry : case_table()) {
    if (entry.op == op) entry.fill(cases);
  }
  return cases.all();
}

double work_of(const Variant& v, const TensorDesc& out) {
  std::vector<const TensorDesc*> descs;
  double work = static_cast<double>(out.count());
  for (const VariantInput& in : v.inputs) {
    descs.push_back(in.present ? &in.desc : nullptr);
    if (in.present) work += static_cast<double>(in.elements);
  }
  while (descs.size() < v.source->op->inputs.size() && !v.source->op->variadic) descs.push_back(nullptr);
  return work + v.source->op->cost(v.source->attrs, descs, out).flops;
}

Result<Expectation> expectation(const Variant& v, const TensorDesc& out) {
  const OpDef& op = *v.source->op;
  Expectation e;
  e.out = out;
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
  if (op.kind == OpKind::view) {
    CHIARO_ASSIGN(e.result, viewed(v, tensors[0]));
    return e;
  }
  CHIARO_ASSIGN(e.result, reference_of(op, v.source->attrs, descs, tensors, out));
  if (op.reference != nullptr && op.decompose != nullptr && v.all_contiguous()) {
    CHIARO_ASSIGN(const RefTensor parts, decomposition_of(op, v.source->attrs, descs, tensors));
    CHIARO_TRY(decomposition_agrees(parts, e.result));
  }
  AttrMap plain = v.source->attrs;
  for (auto& [name, value] : plain) {
    if (name != "act" || value == AttrValue(std::string("none"))) continue;
    value = std::string("none");
    CHIARO_ASSIGN(const RefTensor before, reference_of(op, plain, descs, tensors, out));
    e.before_act = largest_finite(before);
  }
  return e;
}

std::optional<std::string> wrong_with(const Variant& v, const Expectation& expected, const VariantRun& run,
                                      std::string_view by) {
  if (run.broken) return v.text() + ": " + run.why;
  const auto wrong = compare(*v.source, expected.out.dtype, run.output.data(), expected.result, expected.before_act);
  if (!wrong) return std::nullopt;
  return v.text() + ", by " + std::string(by) + ": " + wrong->text(expected.out.shape);
}

}  // namespace chiaro
