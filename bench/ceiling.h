// What a benchmark is measured against: this thread's multiply-add peak and copy bandwidth, measured in this process.
//
// Benchmarks run on one thread and count its processor time, so that a loaded machine tells the truth about arithmetic
// (about memory it cannot: neighbours take bandwidth). The yardsticks are measured once, before the first benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <vector>

#include "core/thread_pool.h"
#include "ops/cpu_blocks/ceilings.h"

namespace chiaro::bench {

struct Ceiling {
  double gflops = 0, gbs = 0;
};

// Copies between buffers beyond every cache, bytes read plus bytes written per second of processor time.
inline double copy_gbs() {
  constexpr size_t kBytes = size_t{128} << 20, kPiece = size_t{1} << 20;
  const std::vector<char> from(kBytes, 1);
  std::vector<char> to(kBytes, 2);
  double best = 0;
  for (int run = 0; run < 6; ++run) {
    const std::clock_t start = std::clock();
    for (size_t at = 0; at < kBytes; at += kPiece) std::memcpy(to.data() + at, from.data() + at, kPiece);
    benchmark::ClobberMemory();
    best = std::max(best, 2e-9 * kBytes * CLOCKS_PER_SEC / static_cast<double>(std::clock() - start));
  }
  return best;
}

inline const Ceiling& ceiling() {
  static const Ceiling measured = [] {
    ThreadPool pool(1);
    Ceiling best;
    for (int i = 0; i < 4; ++i) best.gflops = std::max(best.gflops, measure_fma_peak_gflops(pool));
    best.gbs = copy_gbs();
    return best;
  }();
  return measured;
}

// Counters of one benchmark: work per iteration, as rates and as percent of the ceiling (percent is per second of
// processor time: rate * 100 / ceiling).
inline void report(benchmark::State& state, double flops, double bytes) {
  using benchmark::Counter;
  const auto total = [&state](double work) { return work * static_cast<double>(state.iterations()); };
  if (flops > 0) {
    state.counters["GFLOP/s"] = Counter(total(flops) * 1e-9, Counter::kIsRate);
    state.counters["%peak"] = Counter(total(flops) * 1e-7 / ceiling().gflops, Counter::kIsRate);
  }
  if (bytes > 0) {
    state.counters["GB/s"] = Counter(total(bytes) * 1e-9, Counter::kIsRate);
    state.counters["%copy"] = Counter(total(bytes) * 1e-7 / ceiling().gbs, Counter::kIsRate);
  }
}

}  // namespace chiaro::bench
