// Implicit GEMM: rows of the window matrix are packed block by block from the image, whatever its strides; no im2col.
// Bytes: x read about kh kw / stride times from the cache, w packed once, y written once.
#include "ops/conv2d/op.h"
#include "ops/cpu_blocks/block_weight.h"
#include "ops/cpu_blocks/norm_kernel.h"

namespace chiaro {
namespace {

GemmMap map_of(const TensorDesc& t) {
  return {t.dtype, t.strides[0], t.strides[1], t.strides[2], t.strides[3]};
}

struct Conv2dCpu {
  using Op = Conv2d;
  using Context = CpuRun;
  static constexpr std::string_view name = "cpu.conv2d";
  struct Params {
    GemmProblem problem;  // without pointers
    bool bias = false, residual = false;
    int workers = 1;
  };
  static Result<Minted<Conv2dCpu>> plan(const TypedCall<Conv2d>& call, const DeviceTraits& traits) {
    CHIARO_TRY(check_activation(name, call.out()));
    for (int i = 0; i < 4; ++i) {
      if (!call.has(i) || row_decodable(call.in(i).dtype)) continue;
      if (i != 1) return kernel_refusal(name, call.in(i).text(), "a plain float type or i8");
      if (!call.in(i).contiguous()) return kernel_refusal(name, call.in(i).text(), "a dense run of blocks");
    }
    Params params;
    params.problem = geometry(call);
    params.bias = call.has(2);
    if (params.bias) {
      params.problem.bias_dtype = call.in(2).dtype;
      params.problem.bias_stride = call.in(2).strides[0];
    }
    params.residual = call.has(3);
    if (params.residual) params.problem.residual_map = map_of(call.in(3));
    params.workers = traits.threads;
    const GemmProblem& p = params.problem;
    const auto scratch = static_cast<int64_t>(gemm_scratch_bytes(p.m(), p.n, p.a.k(), traits.threads));
    return Minted<Conv2dCpu>(params, scratch);
  }
  static Status run(const Minted<Conv2dCpu>& plan, CpuRun& run) {
    CHIARO_TRY(check_workers(name, *run.pool, plan->workers));
    GemmProblem p = plan->problem;
    p.a.data = run.inputs[0];
    p.b.data = run.inputs[1];
    if (plan->bias) p.bias = run.inputs[2];
    if (plan->residual) p.residual = run.inputs[3];
    p.out = run.output;
    const BlockWeight blocks{p.b.dtype, run.inputs[1], p.a.k()};
    if (is_block(p.b.dtype)) set_block_weight(p.b, blocks);
    gemm(p, run.scratch, *run.pool, run.cancel);
    return {};
  }

 private:
  static GemmProblem geometry(const TypedCall<Conv2d>& call) {
    const TensorDesc &x = call.in(0), &w = call.in(1), &out = call.out();
    GemmProblem p;
    p.batch = out.shape[0];
    p.n = out.shape[3];
    p.a.dtype = x.dtype;
    p.a.batch_stride = x.strides[0];
    p.a.y_stride = x.strides[1];
    p.a.x_stride = x.strides[2];
    p.a.c_stride = x.strides[3];
    p.a.in_h = x.shape[1];
    p.a.in_w = x.shape[2];
    p.a.channels = x.shape[3];
    p.a.kh = w.shape[2];
    p.a.kw = w.shape[3];
    p.a.stride_h = call.attrs.stride_h;
    p.a.stride_w = call.attrs.stride_w;
    p.a.pad_top = call.attrs.pad_top;
    p.a.pad_left = call.attrs.pad_left;
    p.a.dilation_h = call.attrs.dilation_h;
    p.a.dilation_w = call.attrs.dilation_w;
    p.a.out_h = out.shape[1];
    p.a.out_w = out.shape[2];
    p.b.dtype = w.dtype;
    p.b.n_stride = w.strides[0];
    p.b.c_stride = w.strides[1];
    p.b.ky_stride = w.strides[2];
    p.b.kx_stride = w.strides[3];
    p.activation = call.attrs.act;
    p.out_map = map_of(out);
    return p;
  }
};

}  // namespace

Kernels cpu_kernels_conv2d() {
  return make_kernels<Conv2dCpu>();
}

}  // namespace chiaro
