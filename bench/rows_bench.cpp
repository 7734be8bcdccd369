// Elementwise rows from and to memory: percent of the copy bandwidth.
#include <vector>

#include "ceiling.h"
#include "ops/cpu_blocks/elementwise_rows.h"

namespace chiaro::bench {
namespace {

constexpr int64_t kElements = int64_t{1} << 25;  // beyond every cache

// y = f(x), in rows of 16384 elements as the elementwise kernels take them.
void activation(benchmark::State& state, Activation function, DType dtype) {
  const int64_t unit = unit_bytes(dtype);
  std::vector<std::byte> x(static_cast<size_t>(kElements * unit), std::byte{0x35}), y(x.size(), std::byte{0});
  constexpr int64_t kRow = 16384;
  for (auto _ : state) {
    for (int64_t i = 0; i < kElements; i += kRow) {
      activation_row(function, dtype, x.data() + i * unit, y.data() + i * unit, kRow);
    }
    benchmark::ClobberMemory();
  }
  report(state, 0, 2.0 * static_cast<double>(kElements * unit));
}
BENCHMARK_CAPTURE(activation, silu_f32, Activation::silu, DType::f32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(activation, silu_f16, Activation::silu, DType::f16)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(activation, gelu_f32, Activation::gelu, DType::f32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(activation, gelu_f16, Activation::gelu, DType::f16)->Unit(benchmark::kMillisecond);

// y = a + b.
void add(benchmark::State& state, DType dtype) {
  const int64_t unit = unit_bytes(dtype);
  std::vector<std::byte> a(static_cast<size_t>(kElements * unit), std::byte{0x35}), b = a, y = a;
  for (auto _ : state) {
    binary_row(BinaryFunction::plus, dtype, a.data(), b.data(), y.data(), static_cast<size_t>(kElements));
    benchmark::ClobberMemory();
  }
  report(state, 0, 3.0 * static_cast<double>(kElements * unit));
}
BENCHMARK_CAPTURE(add, f32, DType::f32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(add, bf16, DType::bf16)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace chiaro::bench
