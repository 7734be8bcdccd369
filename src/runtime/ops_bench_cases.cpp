#include "runtime/ops_bench_cases.h"

namespace chiaro {
namespace {

BenchInput parameter(int64_t n) {
  return {.shape = {n}, .activation = false};
}
BenchInput weight(const Shape& shape) {
  return {.shape = shape, .weight = true};
}

void add_norms(std::vector<BenchCase>& cases) {
  const AttrValue silu = std::string("silu");
  for (const Shape& x : {Shape{2, 64, 64, 320}, Shape{2, 16, 16, 1280}, Shape{1, 64, 64, 512}, Shape{1, 256, 256, 256},
                         Shape{1, 512, 512, 128}}) {
    cases.push_back({"group_norm", {}, {{x}, parameter(x.back()), parameter(x.back())}, true});
    cases.push_back({"group_norm", {{"act", silu}}, {{x}, parameter(x.back()), parameter(x.back())}, true});
  }
  cases.push_back({"layer_norm", {}, {{{2, 4096, 320}}, parameter(320), parameter(320)}});
  cases.push_back({"layer_norm", {}, {{{2, 65536, 320}}, parameter(320), parameter(320)}});
  cases.push_back({"layer_norm", {}, {{{1, 4096, 3072}}, parameter(3072), parameter(3072)}});
  cases.push_back({"rms_norm", {}, {{{2, 32768, 640}}, parameter(640)}});
  // What fuse.modulate makes in the transformers of Qwen-Image and Z-Image.
  const BenchInput absent;
  cases.push_back({"layer_norm", {}, {{{1, 4096, 3072}}, absent, absent, {{1, 1, 3072}}, {{1, 1, 3072}}}});
  cases.push_back({"rms_norm", {}, {{{1, 4096, 3840}}, parameter(3840), {{1, 1, 3840}}, {{1, 4096, 3840}}}});
  cases.push_back({"softmax", {}, {{{1, 512, 4096}}}});
  cases.push_back({"softmax", {}, {{{1, 8192, 4096}}}});
  cases.push_back({"sum", {{"axes", std::vector<int64_t>{1, 2}}}, {{{4, 256, 256, 128}}}});
  cases.push_back({"mean", {{"axes", std::vector<int64_t>{-1}}}, {{{4, 256, 256, 128}}}});
  cases.push_back({"rope_apply", {}, {{{1, 4096, 24, 128}}, {.shape = {4096, 64, 2, 2}, .activation = false}}});
  cases.push_back({"rope_apply", {}, {{{1, 16384, 24, 128}}, {.shape = {16384, 64, 2, 2}, .activation = false}}});
  cases.push_back({"rope_apply",
                   {{"layout", std::string("split")}},
                   {{{1, 16384, 24, 128}}, {.shape = {16384, 64, 2, 2}, .activation = false}}});
  cases.push_back({"rope_apply",
                   {{"norm", true}},
                   {{{1, 16384, 24, 128}}, {.shape = {16384, 64, 2, 2}, .activation = false}, parameter(128)}});
}

void add_elementwise(std::vector<BenchCase>& cases) {
  const Shape large{1, 512, 512, 128};
  for (const std::string_view op :
       {"relu", "silu", "silu_", "gelu", "quick_gelu", "sigmoid", "tanh", "scale", "contiguous"}) {
    cases.push_back({op, {}, {{large}}});
  }
  for (const std::string_view op : {"add", "sub", "mul", "div", "add_", "mul_", "write"}) {
    cases.push_back({op, {}, {{large}, {large}}});
  }
  cases.push_back({"add", {}, {{large}, {{1, 1, 1, 128}}}});
  // What fuse.elementwise joins, and its three nodes one by one.
  const Shape map{1, 64, 64, 320};
  cases.push_back({"elementwise_chain", {{"steps", std::string("mul 1; add 2; silu")}}, {{map}, {map}, {map}}});
  cases.push_back({"mul", {}, {{map}, {map}}});
  cases.push_back({"add", {}, {{map}, {map}}});
  cases.push_back({"silu", {}, {{map}}});
  cases.push_back({"cast", {{"dtype", std::string("f16")}}, {{large}}});
  cases.push_back({"contiguous", {}, {{.shape = {1, 512, 512, 128}, .order = {0, 3, 1, 2}}}});
  cases.push_back({"contiguous", {}, {{.shape = {1, 128, 512, 512}, .order = {0, 2, 3, 1}}}});
  for (const std::string_view op : {"geglu", "swiglu"}) cases.push_back({op, {}, {{{2, 4096, 2560}}}});
  cases.push_back({"concat", {}, {{{2, 64, 64, 640}}, {{2, 64, 64, 320}}}});
  cases.push_back({"concat", {{"axis", int64_t{1}}}, {{{2, 64, 64, 640}}, {{2, 64, 64, 640}}}});
  cases.push_back({"upsample_nearest", {{"height", int64_t{512}}, {"width", int64_t{512}}}, {{{1, 256, 256, 256}}}});
  cases.push_back({"get_rows", {}, {{.shape = {49408, 768}}, {.shape = {2, 77}, .index = true}}});
  cases.push_back({"timestep_embedding", {}, {{.shape = {2}, .activation = false}}});
}

void add_products(std::vector<BenchCase>& cases) {
  const auto linear = [&](int64_t m, int64_t k, int64_t n) {
    cases.push_back({"matmul", {}, {{{m, k}}, weight({n, k}), parameter(n)}});
  };
  linear(2048, 2048, 2048);
  linear(4096, 320, 320);
  linear(4096, 1280, 320);
  linear(4096, 320, 2560);
  linear(77, 768, 3072);
  linear(2, 320, 1280);
  // With a gate and a residual, and as a gated unit.
  const BenchInput absent;
  cases.push_back(
      {"matmul", {}, {{{1, 1024, 3072}}, weight({3072, 3072}), parameter(3072), {{1, 1024, 3072}}, {{1, 1, 3072}}}});
  cases.push_back({"matmul",
                   {{"act", std::string("silu")}},
                   {{{1, 1024, 1024}}, weight({2736, 1024}), absent, absent, {{1, 1024, 2736}}}});
  cases.push_back({"matmul_id", {}, {{{512, 1024}}, weight({8, 1024, 1024}), {.shape = {512, 2}, .index = true}}});
  const auto conv = [&](int64_t size, int64_t in, int64_t out, int64_t kernel, int64_t stride) {
    const int64_t pad = kernel / 2;
    AttrMap attrs{{"stride_h", stride}, {"stride_w", stride}, {"pad_top", pad},
                  {"pad_bottom", pad},  {"pad_left", pad},    {"pad_right", pad}};
    cases.push_back({"conv2d", attrs, {{{1, size, size, in}}, weight({out, in, kernel, kernel}), parameter(out)}});
  };
  conv(64, 320, 320, 3, 1);
  conv(32, 640, 640, 3, 1);
  conv(64, 512, 512, 3, 1);
  conv(64, 320, 320, 3, 2);
  conv(64, 960, 320, 1, 1);
  conv(256, 128, 128, 3, 1);
  conv(512, 128, 128, 3, 1);
  conv(512, 128, 3, 3, 1);
  const auto attend = [&](int64_t q, int64_t k, int64_t heads, int64_t d) {
    cases.push_back({"attention", {}, {{{1, q, heads, d}}, {{1, k, heads, d}}, {{1, k, heads, d}}}});
  };
  attend(4096, 4096, 8, 40);
  attend(4096, 77, 8, 40);
  attend(1024, 1024, 8, 80);
  attend(256, 256, 8, 160);
  attend(4096, 4096, 10, 64);
  attend(4096, 4096, 1, 512);
  attend(4096, 4096, 24, 128);
}

}  // namespace

std::vector<BenchCase> bench_cases() {
  std::vector<BenchCase> cases;
  add_elementwise(cases);
  add_norms(cases);
  add_products(cases);
  return cases;
}

}  // namespace chiaro
