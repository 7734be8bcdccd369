// One case per line of standard input, one run of it, on standard output its seconds by the clock on the wall and the
// processor time of all its threads: for scripts that let other libraries take turns with this one (bench/peers/).
// Tensors of a case are made when it is first named, and kept; weights are packed then, as plans do it.
//
//   gemm M N K WEIGHTS                  out[M, N] = A[M, K] B[N, K]; WEIGHTS: f32, f16, q4_k and so on
//   conv SIDE IN OUT WEIGHTS HOW        3x3, pad 1, on one picture; HOW: direct or winograd
//   attention BATCH HEADS LENGTH DEPTH [KEYS]  of f32 [B, L, H, D]; KEYS: as many as LENGTH
//   read MB                             that many bytes read once by all threads, from 256 MB by turns
//   peak                                GFLOP/s of multiply-adds of all threads by the wall, in place of seconds
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "core/block_formats.h"
#include "core/dtype.h"
#include "core/memory.h"
#include "core/tensor.h"
#include "core/thread_pool.h"
#include "ops/cpu_blocks/attention_block.h"
#include "ops/cpu_blocks/block_weight.h"
#include "ops/cpu_blocks/ceilings.h"
#include "ops/cpu_blocks/gemm.h"
#include "ops/cpu_blocks/winograd.h"

namespace chiaro::bench {
namespace {

Block block_of(size_t bytes) {
  return Block::make(std::make_shared<SystemAllocator>(), bytes + 64, "a benchmark's tensor").value();
}

// Host memory, aligned as kernels want it; lives as long as the program.
std::byte* memory(size_t bytes) {
  static std::vector<Block> blocks;
  blocks.push_back(block_of(bytes));
  return blocks.back().data();
}

size_t bytes_of(int64_t n, DType dtype) {
  return static_cast<size_t>(n / traits(dtype).block_elements * traits(dtype).block_bytes);
}

// n numbers between -1 and 1. Blocks repeat some that are encoded once: that takes longer than most cases do.
void fill(int64_t n, DType dtype, std::byte* data) {
  if (!is_block(dtype)) {
    for (int64_t i = 0; i < n; ++i) {
      store_element(dtype, data, i, static_cast<double>(i * 2654435761 % 2001) / 1000.0 - 1.0);
    }
    return;
  }
  const int64_t own = std::min<int64_t>(n, 1 << 16);
  std::vector<float> plain(static_cast<size_t>(own));
  fill(own, DType::f32, reinterpret_cast<std::byte*>(plain.data()));
  encode_blocks(dtype, plain.data(), own, data);
  for (int64_t i = own; i < n; i += own) {
    std::memcpy(data + bytes_of(i, dtype), data, bytes_of(std::min(own, n - i), dtype));
  }
}
std::byte* numbers(int64_t n, DType dtype) {
  std::byte* data = memory(bytes_of(n, dtype));
  fill(n, dtype, data);
  return data;
}

using Case = std::function<void(ThreadPool&)>;

// Packs `elements` numbers as B, which are not kept.
void pack(GemmProblem& p, int64_t elements, ThreadPool& pool) {
  const Block raw = block_of(bytes_of(elements, p.b.dtype));
  fill(elements, p.b.dtype, raw.data());
  std::byte* packed = memory(gemm_packed_b_bytes(p));
  p.b.data = raw.data();
  gemm_pack_b(p, packed, pool);
  p.b.data = nullptr;
  p.b.packed = packed;
}

Case gemm_case(std::istream& in, ThreadPool& pool) {
  int64_t m = 0, n = 0, k = 0;
  std::string weights;
  in >> m >> n >> k >> weights;
  const DType dtype = dtype_from_name(weights).value();
  GemmProblem p;
  p.n = n;
  p.a = gemm_matrix(numbers(m * k, DType::f32), DType::f32, m, k, k, 1);
  p.b.dtype = dtype;
  p.b.n_stride = k;
  p.out = numbers(m * n, DType::f32);
  p.out_map = {DType::f32, 0, 0, n, 1};
  static std::map<std::tuple<int64_t, int64_t, DType>, const std::byte*> packings;  // for any number of rows
  const std::byte*& packed = packings[{n, k, dtype}];
  if (packed == nullptr) {
    pack(p, n * k, pool);
    packed = p.b.packed;
  }
  p.b.packed = packed;
  std::byte* scratch = memory(gemm_scratch_bytes(m, n, k, pool.threads(), true));
  return [p, scratch](ThreadPool& threads) { gemm(p, scratch, threads); };
}

Case conv_case(std::istream& in, ThreadPool& pool) {
  int64_t side = 0, c = 0, n = 0;
  std::string weights, how;
  in >> side >> c >> n >> weights >> how;
  GemmProblem p;
  p.n = n;
  p.a.data = numbers(side * side * c, DType::f32);
  p.a.batch_stride = side * side * c;
  p.a.y_stride = side * c;
  p.a.x_stride = c;
  p.a.in_h = p.a.in_w = p.a.out_h = p.a.out_w = side;
  p.a.channels = c;
  p.a.kh = p.a.kw = 3;
  p.a.pad_top = p.a.pad_left = 1;
  p.b.dtype = dtype_from_name(weights).value();
  p.b.n_stride = 9 * c;
  p.b.c_stride = 9;
  p.b.ky_stride = 3;
  p.b.kx_stride = 1;
  p.out = numbers(side * side * n, DType::f32);
  p.out_map = {DType::f32, side * side * n, side * n, n, 1};
  pack(p, n * c * 9, pool);
  if (how == "winograd") {
    std::byte* scratch = memory(winograd_scratch_bytes(p, pool.threads()));
    return [p, scratch](ThreadPool& threads) { winograd(p, scratch, threads); };
  }
  std::byte* scratch = memory(gemm_scratch_bytes(p.m(), n, p.a.k(), pool.threads(), gemm_reads_packed(p)));
  return [p, scratch](ThreadPool& threads) { gemm(p, scratch, threads); };
}

Case attention_case(std::istream& in, ThreadPool& pool) {
  AttentionProblem p;
  in >> p.batch >> p.heads >> p.lq >> p.d;
  p.kv_heads = p.heads;
  if (!(in >> p.lk)) p.lk = p.lq;
  p.scale = 1 / std::sqrt(static_cast<float>(p.d));
  const int64_t row = p.heads * p.d;
  const auto tensor = [&](int64_t length) {
    return AttentionTensor{numbers(p.batch * length * row, DType::f32), DType::f32, length * row, row, p.d, 1};
  };
  p.q = tensor(p.lq);
  p.k = tensor(p.lk);
  p.v = tensor(p.lk);
  p.out = numbers(p.batch * p.lq * row, DType::f32);
  p.out_map = p.q;
  std::byte* scratch = memory(attention_scratch_bytes(p, pool.threads()));
  return [p, scratch](ThreadPool& threads) { attention_block(p, scratch, threads); };
}

// Reading as fast as these processors can: sums of whole cache lines, a piece for each chunk, its halves side by side.
Case read_case(std::istream& in) {
  constexpr int64_t kBytes = int64_t{256} << 20, kPiece = int64_t{256} << 10, kHalf = kPiece / 16, kAhead = 256;
  int64_t megabytes = 0;
  in >> megabytes;
  static const auto* data = reinterpret_cast<const uint64_t*>(numbers(kBytes, DType::f8_e4m3));
  const int64_t pieces = megabytes * 1000000 / kPiece;
  return [pieces, at = int64_t{0}](ThreadPool& threads) mutable {
    std::atomic<uint64_t> total = 0;
    threads.parallel_for(pieces, [&](int64_t piece, int) {
      const uint64_t* from = data + (at + piece) * kPiece % kBytes / 8;
      uint64_t sum[8] = {};
      for (int64_t i = 0; i < kHalf; i += 8) {
        __builtin_prefetch(from + i + kAhead);
        __builtin_prefetch(from + kHalf + i + kAhead);
        for (int64_t j = 0; j < 8; ++j) sum[j] += from[i + j] + from[kHalf + i + j];
      }
      for (const uint64_t s : sum) total += s;
    });
    at += pieces;
    if (total == 1) std::cerr << "the sum is one\n";  // so that it must be made
  };
}

Case make_case(const std::string& line, ThreadPool& pool) {
  std::istringstream in(line);
  std::string kind;
  in >> kind;
  if (kind == "gemm") return gemm_case(in, pool);
  if (kind == "conv") return conv_case(in, pool);
  if (kind == "read") return read_case(in);
  return kind == "attention" ? attention_case(in, pool) : Case{};
}

int run(int threads) {
  ThreadPool pool(threads);
  std::map<std::string, Case> cases;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "peak") {
      std::cout << measure_fma_peak_gflops(pool) << std::endl;
      continue;
    }
    auto [at, fresh] = cases.try_emplace(line);
    if (fresh) at->second = make_case(line, pool);
    if (!at->second) {
      std::cerr << "not understood: " << line << "\n";
      return 2;
    }
    const std::clock_t ticks = std::clock();
    const auto start = std::chrono::steady_clock::now();
    at->second(pool);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    std::cout << wall.count() << " " << static_cast<double>(std::clock() - ticks) / CLOCKS_PER_SEC << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace chiaro::bench

int main(int argc, char** argv) {
  return chiaro::bench::run(argc > 1 ? std::stoi(argv[1]) : 2);
}
