#include "runtime/kernels_docs_cases.h"

namespace chiaro {
namespace {

BenchInput parameter(int64_t n) {
  return {.shape = {n}, .activation = false};
}

const Shape kMap{2, 64, 64, 320}, kSmallMap{2, 8, 8, 64};

void add_elementwise(std::vector<KernelCall>& calls) {
  for (const std::string_view op :
       {"relu", "silu", "silu_", "gelu", "quick_gelu", "sigmoid", "tanh", "scale", "contiguous"}) {
    calls.push_back({{op, {}, {{kMap}}}, {{kSmallMap}}});
  }
  for (const std::string_view op : {"add", "sub", "mul", "div", "add_", "mul_", "write"}) {
    calls.push_back({{op, {}, {{kMap}, {kMap}}}, {{kSmallMap}, {kSmallMap}}});
  }
  calls.push_back({{"elementwise_chain", {{"steps", std::string("mul 1; add 2; silu")}}, {{kMap}, {kMap}, {kMap}}},
                   {{kSmallMap}, {kSmallMap}, {kSmallMap}}});
  calls.push_back({{"cast", {{"dtype", std::string("f32")}}, {{kMap}}}, {{kSmallMap}}});
  for (const std::string_view op : {"geglu", "swiglu"})
    calls.push_back({{op, {}, {{{2, 4096, 2560}}}}, {{{2, 16, 64}}}});
  calls.push_back({{"concat", {}, {{{2, 64, 64, 640}}, {{2, 64, 64, 320}}}}, {{{2, 8, 8, 64}}, {{2, 8, 8, 32}}}});
  calls.push_back({{"upsample_nearest", {{"height", int64_t{64}}, {"width", int64_t{64}}}, {{{2, 32, 32, 640}}}},
                   {{{2, 8, 8, 64}}},
                   {{"height", int64_t{16}}, {"width", int64_t{16}}}});
  calls.push_back({{"get_rows", {}, {{.shape = {49408, 768}}, {.shape = {2, 77}, .index = true}}},
                   {{.shape = {16, 64}}, {.shape = {2, 7}, .index = true}}});
  calls.push_back(
      {{"timestep_embedding", {}, {{.shape = {2}, .activation = false}}}, {{.shape = {2}, .activation = false}}});
}

void add_norms(std::vector<KernelCall>& calls) {
  const auto group_norm = [&](const Shape& x) {
    calls.push_back({{"group_norm", {}, {{x}, parameter(x.back()), parameter(x.back())}},
                     {{{1, 16, 16, 64}}, parameter(64), parameter(64)}});
  };
  group_norm({2, 64, 64, 320});
  group_norm({1, 64, 64, 512});  // [64,64,512] and [256,256,256] as (W,H,C): of the decoder
  group_norm({1, 256, 256, 256});
  calls.push_back({{"layer_norm", {}, {{{2, 4096, 320}}, parameter(320), parameter(320)}},
                   {{{2, 16, 320}}, parameter(320), parameter(320)}});
  calls.push_back({{"rms_norm", {}, {{{2, 4096, 640}}, parameter(640)}}, {{{2, 16, 640}}, parameter(640)}});
  calls.push_back({{"softmax", {}, {{{16, 4096, 77}}}}, {{{2, 16, 77}}}});
  calls.push_back({{"sum", {{"axes", std::vector<int64_t>{1, 2}}}, {{{2, 64, 64, 320}}}}, {{{2, 16, 16, 32}}}});
  calls.push_back({{"mean", {{"axes", std::vector<int64_t>{-1}}}, {{{2, 64, 64, 320}}}}, {{{2, 8, 8, 320}}}});
  calls.push_back({{"rope_apply", {}, {{{1, 4096, 24, 128}}, {.shape = {4096, 64, 2, 2}, .activation = false}}},
                   {{{1, 16, 2, 128}}, {.shape = {16, 64, 2, 2}, .activation = false}}});
  calls.push_back({{"rope_apply",
                    {{"norm", true}},
                    {{{1, 4096, 24, 128}}, {.shape = {4096, 64, 2, 2}, .activation = false}, parameter(128)}},
                   {{{1, 16, 2, 128}}, {.shape = {16, 64, 2, 2}, .activation = false}, parameter(128)}});
}

void add_products(std::vector<KernelCall>& calls) {
  const auto linear = [&](int64_t m, int64_t k, int64_t n) {
    calls.push_back({{"matmul", {}, {{{m, k}}, {{n, k}}, parameter(n)}}, {{{128, 64}}, {{128, 64}}, parameter(128)}});
  };
  linear(8192, 320, 320);
  linear(8192, 320, 2560);
  linear(154, 768, 3072);
  calls.push_back({{"matmul_id", {}, {{{512, 1024}}, {{8, 1024, 1024}}, {.shape = {512, 2}, .index = true}}},
                   {{{64, 64}}, {{2, 64, 64}}, {.shape = {64, 2}, .index = true}}});
  const auto conv = [&](int64_t batch, int64_t size, int64_t channels) {
    const AttrMap attrs{
        {"pad_top", int64_t{1}}, {"pad_bottom", int64_t{1}}, {"pad_left", int64_t{1}}, {"pad_right", int64_t{1}}};
    calls.push_back(
        {{"conv2d", attrs, {{{batch, size, size, channels}}, {{channels, channels, 3, 3}}, parameter(channels)}},
         {{{1, 16, 16, 64}}, {{64, 64, 3, 3}}, parameter(64)}});
  };
  conv(2, 64, 320);
  conv(2, 16, 1280);
  conv(1, 512, 128);
  const auto attend = [&](int64_t q, int64_t k, int64_t d) {
    calls.push_back({{"attention", {}, {{{2, q, 8, d}}, {{2, k, 8, d}}, {{2, k, 8, d}}}},
                     {{{1, 64, 2, 40}}, {{1, 64, 2, 40}}, {{1, 64, 2, 40}}}});
  };
  attend(4096, 4096, 40);
  attend(4096, 77, 40);
}

}  // namespace

std::vector<KernelCall> kernel_calls() {
  std::vector<KernelCall> calls;
  add_products(calls);
  add_norms(calls);
  add_elementwise(calls);
  return calls;
}

}  // namespace chiaro
