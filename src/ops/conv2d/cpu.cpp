// Two ways: Winograd for 3x3 windows of step 1 where it pays, and implicit GEMM: rows of the window matrix are packed
// block by block from the image, whatever its strides; no im2col.
// Bytes: x read about kh kw / stride times from the cache, w once (packed once per plan where it is a weight whose rows
// are whole blocks, else at every call), y written once.
#include "ops/conv2d/cpu.h"

#include "ops/conv2d/op.h"
#include "ops/cpu_blocks/block_weight.h"
#include "ops/cpu_blocks/norm_kernel.h"
#include "ops/cpu_blocks/winograd.h"

namespace chiaro {
namespace {

GemmMap map_of(const TensorDesc& t) {
  return {t.dtype, t.strides[0], t.strides[1], t.strides[2], t.strides[3]};
}

// What both ways share.
struct ConvParams {
  GemmProblem problem;  // without pointers
  bool bias = false, residual = false, packed = false;
  int workers = 1;
};

GemmProblem geometry(const TypedCall<Conv2d>& call) {
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

Result<ConvParams> conv_params(std::string_view name, const TypedCall<Conv2d>& call, const DeviceTraits& traits) {
  CHIARO_TRY(check_activation(name, call.out()));
  for (int i = 0; i < 4; ++i) {
    if (!call.has(i) || row_decodable(call.in(i).dtype)) continue;
    if (i != 1) return kernel_refusal(name, call.in(i).text(), "a plain float type or i8");
    if (!call.in(i).contiguous()) return kernel_refusal(name, call.in(i).text(), "a dense run of blocks");
  }
  ConvParams params;
  params.problem = geometry(call);
  params.bias = call.has(2);
  if (params.bias) {
    params.problem.bias_dtype = call.in(2).dtype;
    params.problem.bias_stride = call.in(2).strides[0];
  }
  params.residual = call.has(3);
  if (params.residual) params.problem.residual_map = map_of(call.in(3));
  params.packed = call.inputs[1].constant && gemm_packs(params.problem);
  params.workers = traits.threads;
  return params;
}

// Both ask for the same form of a weight, so that plans of several sizes share it.
PackedInput packed_weight(const ConvParams& params) {
  return params.packed ? gemm_packed_input(1, params.problem) : PackedInput{};
}

Status pack_weight(const ConvParams& params, const std::byte* source, std::byte* to, ThreadPool& pool,
                   const std::atomic<bool>* cancel) {
  GemmProblem p = params.problem;
  p.b.data = source;
  gemm_pack_b(p, to, pool, cancel);
  return {};
}

using Convolution = void (*)(const GemmProblem&, std::byte*, ThreadPool&, const std::atomic<bool>*);

Status run_convolution(std::string_view name, const ConvParams& params, CpuRun& run, Convolution convolution) {
  CHIARO_TRY(check_workers(name, *run.pool, params.workers));
  GemmProblem p = params.problem;
  p.a.data = run.inputs[0];
  if (params.packed) {
    p.b.packed = run.inputs[1];
  } else {
    p.b.data = run.inputs[1];
  }
  if (params.bias) p.bias = run.inputs[2];
  if (params.residual) p.residual = run.inputs[3];
  p.out = run.output;
  convolution(p, run.scratch, *run.pool, run.cancel);
  return {};
}

struct Conv2dCpu {
  using Op = Conv2d;
  using Context = CpuRun;
  using Params = ConvParams;
  static constexpr std::string_view name = "cpu.conv2d";
  static Result<Minted<Conv2dCpu>> plan(const TypedCall<Conv2d>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(const ConvParams params, conv_params(name, call, traits));
    const GemmProblem& p = params.problem;
    const bool ready = params.packed && gemm_reads_packed(p);
    const auto scratch = gemm_scratch_bytes(p.m(), p.n, p.a.k(), traits.threads, ready);
    return Minted<Conv2dCpu>(params, static_cast<int64_t>(scratch), packed_weight(params));
  }
  static Status run(const Minted<Conv2dCpu>& plan, CpuRun& run) { return run_convolution(name, *plan, run, &gemm); }
  static Status pack(const Minted<Conv2dCpu>& plan, const std::byte* source, std::byte* to, ThreadPool& pool,
                     const std::atomic<bool>* cancel) {
    return pack_weight(*plan, source, to, pool, cancel);
  }
};

template <bool kAlways>
struct Conv2dWinogradCpu {
  using Op = Conv2d;
  using Context = CpuRun;
  using Params = ConvParams;
  static constexpr std::string_view name = "cpu.conv2d_winograd";
  static Result<Minted<Conv2dWinogradCpu>> plan(const TypedCall<Conv2d>& call, const DeviceTraits& traits) {
    CHIARO_ASSIGN(const ConvParams params, conv_params(name, call, traits));
    if (!winograd_takes(params.problem)) {
      return kernel_refusal(name, "that window", "a window of 3x3 with steps of 1 and more than 4 output channels");
    }
    if (!kAlways && !winograd_pays(params.problem)) {
      return kernel_refusal(name, call.in(0).text() + " to " + call.out().text(),
                            "pictures and channels that it pays for");
    }
    const auto scratch = static_cast<int64_t>(winograd_scratch_bytes(params.problem, traits.threads));
    return Minted<Conv2dWinogradCpu>(params, scratch, packed_weight(params));
  }
  static Status run(const Minted<Conv2dWinogradCpu>& plan, CpuRun& run) {
    return run_convolution(name, *plan, run, &winograd);
  }
  static Status pack(const Minted<Conv2dWinogradCpu>& plan, const std::byte* source, std::byte* to, ThreadPool& pool,
                     const std::atomic<bool>* cancel) {
    return pack_weight(*plan, source, to, pool, cancel);
  }
};

}  // namespace

Kernels cpu_kernels_conv2d() {
  return make_kernels<Conv2dWinogradCpu<false>, Conv2dCpu>();
}

Kernels cpu_kernels_conv2d_winograd() {
  return make_kernels<Conv2dWinogradCpu<true>, Conv2dCpu>();
}

}  // namespace chiaro
