// Matrix products, convolutions and attention, without the ops around them: percent of the multiply-add peak.
#include <vector>

#include "ceiling.h"
#include "core/floats.h"
#include "core/memory.h"
#include "ops/cpu_blocks/attention_block.h"
#include "ops/cpu_blocks/gemm.h"

namespace chiaro::bench {
namespace {

// n numbers between -1 and 1.
std::vector<float> numbers(int64_t n) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i * 2654435761U % 2001U) / 1000.0f - 1.0f;
  return v;
}
std::vector<uint16_t> halves(int64_t n) {
  const std::vector<float> f = numbers(n);
  std::vector<uint16_t> v(f.size());
  for (size_t i = 0; i < v.size(); ++i) v[i] = f16_from_f32(f[i]);
  return v;
}

// Scratch aligned to 64 bytes.
struct Scratch {
  explicit Scratch(size_t size) : bytes(size + 64) {}
  std::byte* data() { return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64; }
  std::vector<std::byte> bytes;
};

void multiply(benchmark::State& state, GemmProblem p) {
  ThreadPool pool(1);
  const int64_t k = p.a.k();
  Scratch scratch(gemm_scratch_bytes(p.m(), p.n, k, 1));
  std::vector<float> out(static_cast<size_t>(p.m() * p.n));
  p.out = out.data();
  p.out_map = {DType::f32, p.a.out_h * p.a.out_w * p.n, p.a.out_w * p.n, p.n, 1};
  for (auto _ : state) {
    gemm(p, scratch.data(), pool);
    benchmark::ClobberMemory();
  }
  report(state, 2.0 * static_cast<double>(p.m()) * static_cast<double>(p.n) * static_cast<double>(k), 0);
}

// out[m, n] = A[m, k] B[n, k], arguments {m, n, k}.
void product(benchmark::State& state, DType weights) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const std::vector<float> a = numbers(m * k), b = numbers(n * k);
  const std::vector<uint16_t> b_half = halves(n * k);
  GemmProblem p;
  p.n = n;
  p.a = gemm_matrix(a.data(), DType::f32, m, k, k, 1);
  p.b.data = weights == DType::f16 ? static_cast<const void*>(b_half.data()) : b.data();
  p.b.dtype = weights;
  p.b.n_stride = k;
  multiply(state, p);
}
BENCHMARK_CAPTURE(product, f32, DType::f32)
    ->Args({2048, 2048, 2048})
    ->Args({4096, 320, 320})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(product, f16_weights, DType::f16)
    ->Args({2048, 2048, 2048})
    ->Args({4096, 320, 320})
    ->Unit(benchmark::kMillisecond);

// A 3x3 convolution of [1, size, size, in] by [out, in, 3, 3], padded; arguments {size, in, out}.
void convolution(benchmark::State& state) {
  const int64_t size = state.range(0), in = state.range(1), out = state.range(2);
  const std::vector<float> x = numbers(size * size * in), w = numbers(out * in * 9);
  GemmProblem p;
  p.n = out;
  p.a.data = x.data();
  p.a.y_stride = size * in;
  p.a.x_stride = in;
  p.a.in_h = p.a.in_w = p.a.out_h = p.a.out_w = size;
  p.a.channels = in;
  p.a.kh = p.a.kw = 3;
  p.a.pad_top = p.a.pad_left = 1;
  p.b.data = w.data();
  p.b.n_stride = in * 9;
  p.b.c_stride = 9;
  p.b.ky_stride = 3;
  p.b.kx_stride = 1;
  multiply(state, p);
}
BENCHMARK(convolution)
    ->Args({64, 320, 320})
    ->Args({64, 512, 512})
    ->Args({64, 320, 4})
    ->Args({64, 4, 320})
    ->Unit(benchmark::kMillisecond);

// Arguments {queries, keys, heads, channels of a head}.
void attention(benchmark::State& state) {
  const int64_t lq = state.range(0), lk = state.range(1), heads = state.range(2), d = state.range(3);
  ThreadPool pool(1);
  const std::vector<float> q = numbers(lq * heads * d), k = numbers(lk * heads * d), v = k;
  std::vector<float> out(q.size());
  AttentionProblem p;
  p.heads = p.kv_heads = heads;
  p.lq = lq;
  p.lk = lk;
  p.d = d;
  p.q = {q.data(), DType::f32, 0, heads * d, d, 1};
  p.k = {k.data(), DType::f32, 0, heads * d, d, 1};
  p.v = {v.data(), DType::f32, 0, heads * d, d, 1};
  p.out_map = p.q;
  p.out = out.data();
  p.scale = 0.15f;
  Scratch scratch(attention_scratch_bytes(p, 1));
  for (auto _ : state) {
    attention_block(p, scratch.data(), pool);
    benchmark::ClobberMemory();
  }
  report(state, 4.0 * static_cast<double>(lq * lk) * static_cast<double>(heads * d), 0);
}
BENCHMARK(attention)
    ->Args({4096, 4096, 8, 40})
    ->Args({4096, 77, 8, 40})
    ->Args({1024, 1024, 8, 80})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace chiaro::bench

BENCHMARK_MAIN();
