#include "ops/conformance/cases.h"
#include "ops/matmul/op.h"

namespace chiaro {
namespace {

CaseInput rows(const Shape& shape) {
  return {.shape = shape, .batch_dim = 0};
}
CaseInput weight(const Shape& shape) {
  return {.shape = shape, .weight = true};
}
CaseInput absent() {
  return {.present = false};
}

void linears(Cases& cases) {
  struct Size {
    int64_t m, n, k;
  };
  for (const Size s : {Size{1, 1, 1}, {3, 5, 2}, {7, 33, 17}, {13, 64, 129}, {97, 35, 321}, {2, 129, 65}}) {
    cases.add<Matmul>({}, {rows({2, s.m, s.k}), weight({s.n, s.k})}, s.k).floor = 1;
    cases.add<Matmul>({}, {rows({2, s.m, s.k}), weight({s.n, s.k}), {.shape = {s.n}}}, s.k).floor = 1;
  }
  for (const auto& [act, text] : kActivationNames) {
    Case& c = cases.add<Matmul>(
        {.act = act}, {rows({2, 9, 40}), weight({37, 40}), {.shape = {37}}, {.shape = {2, 9, 37}, .batch_dim = 0}}, 40);
    c.floor = 1;
    c.note = "bias, activation, residual";
  }
  cases.add<Matmul>({}, {rows({2, 5, 24}), weight({19, 24}), absent(), {.shape = {2, 5, 19}, .batch_dim = 0}}, 24)
      .note = "residual alone";
  const auto gated = [&](Activation act, CaseInput bias, CaseInput residual, CaseInput scale, const char* note) {
    scale.low = -2, scale.high = 2;
    Case& c = cases.add<Matmul>({.act = act}, {rows({2, 9, 40}), weight({37, 40}), bias, residual, scale}, 40);
    c.floor = 2;
    c.note = note;
  };
  gated(Activation::none, {.shape = {37}}, rows({2, 9, 37}), rows({2, 1, 37}), "a gate per picture, then a residual");
  gated(Activation::silu, absent(), absent(), rows({2, 9, 37}), "a gated unit");
  gated(Activation::none, absent(), absent(), {.shape = {9, 1}}, "a scale per row");
}

void batches(Cases& cases) {
  for (const bool transpose : {true, false}) {
    const auto b = [transpose](Shape shape, int64_t n, int64_t k) {
      shape.push_back(transpose ? n : k);
      shape.push_back(transpose ? k : n);
      return shape;
    };
    const Matmul::Attrs attrs{.transpose_b = transpose};
    cases.add<Matmul>(attrs, {rows({11, 30}), weight(b({}, 18, 30))}, 30).note = "plain matrices";
    cases.add<Matmul>(attrs, {rows({2, 3, 5, 30}), weight(b({}, 18, 30))}, 30).note = "one b for all";
    cases.add<Matmul>(attrs, {rows({2, 7, 30}), {.shape = b({2}, 33, 30), .batch_dim = 0}}, 30).note = "a b each";
    cases.add<Matmul>(attrs, {rows({2, 1, 7, 16}), {.shape = b({3}, 9, 16)}}, 16).note = "both are broadcast";
    cases.add<Matmul>(attrs, {{.shape = {6, 20}}, {.shape = b({2, 2}, 5, 20)}}, 20).note = "x is broadcast";
  }
}

CaseInput blocks(const Shape& shape, DType dtype) {
  return {.shape = shape, .dtype = dtype, .weight = true};
}

// Few and odd rows, a weight shared by a batch; then odd columns with all that follows a product, and a weight for each
// picture.
void block_weights(Cases& cases) {
  for (const DType dtype : block_types()) {
    for (const int64_t k : {32, 64, 256, 288}) {
      if (k % traits(dtype).block_elements != 0) continue;
      for (const int64_t m : {1, 2, 7, 8, 9, 32, 33}) {
        const CaseInput x{.shape = {3, m, k}, .dtype = DType::f32, .fixed_layout = true};
        Case& c = cases.add<Matmul>({}, {x, blocks({64, k}, dtype)}, k);
        c.floor = 1;
        c.note = "blocks, one b for all";
      }
    }
    std::vector<CaseInput> inputs{
        rows({2, 9, 256}), blocks({37, 256}, dtype), {.shape = {37}}, {.shape = {2, 9, 37}, .batch_dim = 0}};
    // Layouts of the other operands are the same code for every type: one of each kind of block takes them all.
    const bool laid_out = dtype == DType::q8_0 || dtype == DType::q4_k;
    for (CaseInput& input : inputs) input.fixed_layout = !laid_out;
    Case& c = cases.add<Matmul>({.act = Activation::silu}, inputs, 256);
    c.floor = 1;
    c.note = "blocks, bias, activation, residual";
    cases.add<Matmul>({}, {{.shape = {2, 3, 256}}, blocks({2, 33, 256}, dtype)}, 256).note = "blocks, a b each";
  }
}

}  // namespace

void cases_matmul(Cases& cases) {
  linears(cases);
  batches(cases);
  block_weights(cases);
}

}  // namespace chiaro
