#include "ops/conformance/cases.h"
#include "ops/attention/op.h"

namespace chiaro {
namespace {

struct Size {
  int64_t lq, lk, heads, kv_heads, d;
};

CaseInput part(const Shape& shape, double range = 2) {
  return {.shape = shape, .low = -range, .high = range, .batch_dim = 0};
}

std::vector<CaseInput> tensors(const Size& s) {
  return {part({2, s.lq, s.heads, s.d}), part({2, s.lk, s.kv_heads, s.d}), part({2, s.lk, s.kv_heads, s.d})};
}

Case& add_case(Cases& cases, const Attention::Attrs& attrs, const Size& s, std::vector<CaseInput> inputs,
               std::string note) {
  Case& c = cases.add<Attention>(attrs, std::move(inputs), std::max(s.lk, s.d));
  c.note = std::move(note);
  c.floor = 1;
  return c;
}

}  // namespace

void cases_attention(Cases& cases) {
  for (const Size s : {Size{1, 1, 1, 1, 1},
                       {7, 5, 2, 2, 3},
                       {33, 77, 2, 2, 40},
                       {20, 20, 1, 1, 64},
                       {5, 260, 2, 2, 16},
                       {3, 9, 1, 1, 80},
                       {4, 6, 1, 1, 160},
                       {6, 8, 1, 1, 512},
                       {200, 17, 1, 1, 8}}) {
    add_case(cases, {}, s, tensors(s), "");
    add_case(cases, {.causal = true}, s, tensors(s), "causal");
  }
  const Size wide{2, 3, 2, 1, 520};
  add_case(cases, {}, wide, tensors(wide), "a head of more columns than a group of threads sums up");
  for (const int64_t kv_heads : {1, 2, 3}) {
    const Size s{9, 11, 6, kv_heads, 24};
    add_case(cases, {.scale = 0.125}, s, tensors(s), "grouped keys, scale given");
  }
  const Size s{9, 13, 2, 2, 20};
  for (const Shape& bias : {Shape{2, 2, 9, 13}, Shape{2, 1, 9, 13}, Shape{2, 1, 1, 13}}) {
    auto inputs = tensors(s);
    inputs.push_back(part(bias, 3));
    add_case(cases, {}, s, inputs, "bias " + bias.text());
  }
  for (const Shape& bias : {Shape{1, 2, 9, 13}, Shape{9, 13}, Shape{13}, Shape{1, 1, 9, 1}}) {
    auto inputs = tensors(s);
    inputs.push_back({.shape = bias, .low = -3, .high = 3});
    add_case(cases, {.causal = true}, s, inputs, "causal, bias " + bias.text());
  }
  auto inputs = tensors(s);
  inputs.push_back({.present = false});
  inputs.push_back({.shape = {2}, .low = 0, .high = 13, .dtype = DType::i32, .integer = true, .batch_dim = 0});
  add_case(cases, {}, s, inputs, "key lengths");
}

}  // namespace chiaro
