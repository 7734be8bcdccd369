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

}  // namespace

void cases_matmul(Cases& cases) {
  linears(cases);
  batches(cases);
}

}  // namespace chiaro
