// Measured peaks of arithmetic and memory.
#include "ops/cpu_blocks/ceilings.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "core/memory.h"
#include "ops/cpu_blocks/simd_targets.h"
#include "ops/cpu_blocks/stream_copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cpu_blocks/ceilings.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "ops/cpu_blocks/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chiaro {
namespace HWY_NAMESPACE {

// Twelve independent chains cover the latency of two FMA units. Returns the floating point operations done; `sink`
// keeps the results alive.
double fma_loop(int64_t iterations, float* sink) {
  const DF d;
  constexpr int kChains = 12;
  VF sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = hn::Set(d, sink[0] + static_cast<float>(i));
  const VF a = hn::Set(d, sink[1]);
  const VF b = hn::Set(d, sink[2]);
  for (int64_t n = 0; n < iterations; ++n) {
    for (int i = 0; i < kChains; ++i) sum[i] = hn::MulAdd(sum[i], a, b);
  }
  VF total = sum[0];
  for (int i = 1; i < kChains; ++i) total = hn::Add(total, sum[i]);
  sink[3] += hn::GetLane(total);
  return 2.0 * kChains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(iterations);
}

}  // namespace HWY_NAMESPACE
}  // namespace chiaro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chiaro {

HWY_EXPORT(fma_loop);

namespace {
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
}  // namespace

double measure_fma_peak_gflops(ThreadPool& pool) {
  constexpr int64_t kIterations = 100'000;  // about 0.3 ms
  constexpr int kChunksPerThread = 16;      // so that a thread that wakes late costs a chunk, not half of the peak
  double best = 0;
  for (int run = 0; run < 8; ++run) {
    std::atomic<double> done{0};
    const auto start = Clock::now();
    pool.parallel_for(int64_t{kChunksPerThread} * pool.threads(), [&done](int64_t, int) {
      float sink[4] = {1.0f, 0.5f, 0.25f, 0.0f};
      const double flops = HWY_DYNAMIC_DISPATCH(fma_loop)(kIterations, sink);
      // The comparison keeps the loop: the sum is never negative.
      if (sink[3] < 0) return;
      double seen = done.load();
      while (!done.compare_exchange_weak(seen, seen + flops)) {
      }
    });
    best = std::max(best, done.load() / seconds_since(start) * 1e-9);
  }
  return best;
}

double measure_copy_bandwidth_gbs(ThreadPool& pool, bool past_caches) {
  constexpr size_t kBytes = size_t{128} << 20;
  constexpr size_t kChunk = size_t{1} << 20;
  const auto system = std::make_shared<SystemAllocator>();
  auto from = Block::make(system, kBytes, "bandwidth measurement");
  auto to = Block::make(system, kBytes, "bandwidth measurement");
  if (!from.ok() || !to.ok()) return 0;
  std::memset(from->data(), 1, kBytes);
  std::memset(to->data(), 2, kBytes);
  std::byte* target = to->data();
  const std::byte* source = from->data();
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    const auto start = Clock::now();
    pool.parallel_for(kBytes / kChunk, [target, source, past_caches](int64_t chunk, int) {
      const size_t offset = static_cast<size_t>(chunk) * kChunk;
      if (!past_caches) return static_cast<void>(std::memcpy(target + offset, source + offset, kChunk));
      stream_bytes(target + offset, source + offset, kChunk);
      stream_end();
    });
    best = std::max(best, 2.0 * static_cast<double>(kBytes) / seconds_since(start) * 1e-9);
  }
  return best;
}

}  // namespace chiaro
#endif
