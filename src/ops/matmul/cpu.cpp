// Bytes: x and b read once per cache block, scale and residual once, y written once. A weight is packed once per plan;
// any other b at every call, to f32 panels in scratch, 32 MiB at most at once.
#include <algorithm>

#include "ops/cpu_blocks/block_weight.h"
#include "ops/cpu_blocks/norm_kernel.h"
#include "ops/matmul/op.h"

namespace chiaro {
namespace {

// One dimension over which rows, or whole products, repeat. Steps in bytes.
struct Level {
  int64_t size = 1, x = 0, b = 0, out = 0, residual = 0, scale = 0;
};

struct MatmulCpu {
  using Op = Matmul;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.matmul";
  struct Params {
    GemmProblem problem;       // without pointers
    std::vector<Level> loops;  // products made one after another, outermost first
    bool bias = false, residual = false, scale = false, packed = false;
    int workers = 1;
  };
  static Result<Minted<MatmulCpu>> plan(const TypedCall<Matmul>& call, const DeviceTraits& traits);
  static Status pack(const Minted<MatmulCpu>& plan, const std::byte* source, std::byte* to, ThreadPool& pool,
                     const std::atomic<bool>* cancel) {
    GemmProblem p = plan->problem;
    p.b.data = source;
    gemm_pack_b(p, to, pool, cancel);
    return {};
  }
  static Status run(const Minted<MatmulCpu>& plan, CpuRun& run);

 private:
  static Status check_types(const TypedCall<Matmul>& call);
  // What is done to the sums, and where the results go; `rows`: the three levels of rows of one product.
  static void set_finish(Params& params, const TypedCall<Matmul>& call, const std::vector<Level>& rows);
};

// Leading dimensions and M as levels, outermost first; steps in elements.
std::vector<Level> levels_of(const TypedCall<Matmul>& call) {
  const TensorDesc& out = call.out();
  const int rank = out.rank();
  const auto step = [rank](const TensorDesc& t, int d) {
    const int own = d - (rank - t.rank());
    return own < 0 || t.shape[own] == 1 ? int64_t{0} : t.strides[own];
  };
  std::vector<Level> levels;
  for (int d = 0; d < rank - 1; ++d) {
    if (out.shape[d] == 1 && d != rank - 2) continue;
    Level level{out.shape[d], step(call.in(0), d), d == rank - 2 ? 0 : step(call.in(1), d), out.strides[d], 0, 0};
    if (call.has(3)) level.residual = step(call.in(3), d);
    if (call.has(4)) level.scale = step(call.in(4), d);
    // Two levels are one where every tensor goes from one to the next in even steps.
    if (!levels.empty()) {
      Level& outer = levels.back();
      const auto even = [&level](int64_t a, int64_t b) { return a == b * level.size; };
      if (even(outer.x, level.x) && even(outer.b, level.b) && even(outer.out, level.out) &&
          even(outer.residual, level.residual) && even(outer.scale, level.scale)) {
        level.size *= outer.size;
        levels.pop_back();
      }
    }
    levels.push_back(level);
  }
  return levels;
}

Status MatmulCpu::check_types(const TypedCall<Matmul>& call) {
  CHIARO_TRY(check_activation(name, call.out()));
  for (int i = 0; i < 5; ++i) {
    if (!call.has(i) || row_decodable(call.in(i).dtype)) continue;
    if (i != 1 || !call.attrs.transpose_b) return kernel_refusal(name, call.in(i).text(), "a plain float type or i8");
    if (!whole_block_rows(call.in(i))) return kernel_refusal(name, call.in(i).text(), "rows of whole blocks");
  }
  return {};
}

void MatmulCpu::set_finish(Params& params, const TypedCall<Matmul>& call, const std::vector<Level>& rows) {
  GemmProblem& p = params.problem;
  const TensorDesc& out = call.out();
  p.activation = call.attrs.act;
  p.out_map = {out.dtype, rows[0].out, rows[1].out, rows[2].out, out.strides[-1]};
  params.bias = call.has(2);
  if (params.bias) {
    p.bias_dtype = call.in(2).dtype;
    p.bias_stride = call.in(2).strides[0];
  }
  params.residual = call.has(3);
  if (params.residual) {
    p.residual_map = {call.in(3).dtype, rows[0].residual, rows[1].residual, rows[2].residual, call.in(3).strides[-1]};
  }
  params.scale = call.has(4);
  if (params.scale) {
    const TensorDesc scale = broadcast_to(call.in(4), out.shape);
    p.scale_map = {scale.dtype, rows[0].scale, rows[1].scale, rows[2].scale, scale.strides[-1]};
  }
}

Result<Minted<MatmulCpu>> MatmulCpu::plan(const TypedCall<Matmul>& call, const DeviceTraits& traits) {
  CHIARO_TRY(check_types(call));
  const TensorDesc &x = call.in(0), &b = call.in(1), &out = call.out();
  const int64_t k = x.shape[-1];
  Params params;
  std::vector<Level> rows = levels_of(call);
  // Rows of one product: the innermost levels, up to three, that share one matrix b. The rest are loops.
  const auto shared = [](const Level& level) { return level.b == 0; };
  size_t first = rows.size();
  while (first > 0 && rows.size() - first < 3 && shared(rows[first - 1])) --first;
  params.loops.assign(rows.begin(), rows.begin() + static_cast<int64_t>(first));
  rows.erase(rows.begin(), rows.begin() + static_cast<int64_t>(first));
  rows.insert(rows.begin(), 3 - rows.size(), Level{});
  GemmProblem& p = params.problem;
  p.batch = rows[0].size;
  p.a = gemm_matrix(nullptr, x.dtype, rows[2].size, k, rows[2].x, x.strides[-1]);
  p.a.in_h = p.a.out_h = rows[1].size;
  p.a.y_stride = rows[1].x;
  p.a.batch_stride = rows[0].x;
  p.n = out.shape[-1];
  p.b.dtype = b.dtype;
  p.b.n_stride = b.strides[call.attrs.transpose_b ? -2 : -1];
  p.b.c_stride = b.strides[call.attrs.transpose_b ? -1 : -2];
  set_finish(params, call, rows);
  for (Level& loop : params.loops) {
    loop.x *= unit_bytes(x.dtype);
    loop.b = step_bytes(b.dtype, loop.b);
    loop.out *= unit_bytes(out.dtype);
    loop.residual *= unit_bytes(p.residual_map.dtype);
    loop.scale *= unit_bytes(p.scale_map.dtype);
  }
  params.workers = traits.threads;
  // One b for all products, the same in every run.
  const auto one_b = [](const Level& loop) { return loop.b == 0; };
  params.packed =
      call.inputs[1].constant && gemm_packs(p) && std::all_of(params.loops.begin(), params.loops.end(), one_b);
  PackedInput packed;
  if (params.packed) packed = gemm_packed_input(1, p);
  const auto scratch = static_cast<int64_t>(gemm_scratch_bytes(p.m(), p.n, k, traits.threads, params.packed));
  return Minted<MatmulCpu>(std::move(params), scratch, std::move(packed));
}

Status MatmulCpu::run(const Minted<MatmulCpu>& plan, CpuRun& run) {
  CHIARO_TRY(check_workers(name, *run.pool, plan->workers));
  int64_t count = 1;
  for (const Level& loop : plan->loops) count *= loop.size;
  for (int64_t i = 0; i < count; ++i) {
    Level at;
    int64_t rest = i;
    for (auto loop = plan->loops.rbegin(); loop != plan->loops.rend(); ++loop) {
      const int64_t index = rest % loop->size;
      rest /= loop->size;
      at.x += index * loop->x;
      at.b += index * loop->b;
      at.out += index * loop->out;
      at.residual += index * loop->residual;
      at.scale += index * loop->scale;
    }
    GemmProblem p = plan->problem;
    p.a.data = run.inputs[0] + at.x;
    if (plan->packed) {
      p.b.packed = run.inputs[1];
    } else {
      p.b.data = run.inputs[1] + at.b;
    }
    if (plan->bias) p.bias = run.inputs[2];
    if (plan->residual) p.residual = run.inputs[3] + at.residual;
    if (plan->scale) p.scale = run.inputs[4] + at.scale;
    p.out = run.output + at.out;
    gemm(p, run.scratch, *run.pool, run.cancel);
    if (run.cancel != nullptr && run.cancel->load(std::memory_order_relaxed)) break;
  }
  return {};
}

}  // namespace

Kernels cpu_kernels_matmul() {
  return make_kernels<MatmulCpu>();
}

}  // namespace chiaro
