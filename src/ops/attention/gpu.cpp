#include <algorithm>

#include "ops/attention/gpu_args.h"
#include "ops/attention/op.h"
#include "ops/gpu_kernel.h"

namespace chiaro {
namespace {

constexpr int64_t kQueries = 16, kColumns = 512;  // of a threadgroup

// q, k and v f32, f16 or bf16 (k and v of one type), any bias that load() reads; any strides, any head size.
struct AttentionGpu : GpuKernel<AttentionGpu, Attention> {
  static constexpr std::string_view name = "gpu.attention";

  static Result<Minted<AttentionGpu>> plan(const TypedCall<Attention>& call, const DeviceTraits& traits) {
    CHIARO_TRY(check(call, traits));
    GpuProgram program;
    if (call.out().count() > 0) add_launches(program, call, arguments(call), traits);
    CHIARO_TRY(program.check(name, traits));
    return Minted<AttentionGpu>(std::move(program));
  }

 private:
  static Status check(const TypedCall<Attention>& call, const DeviceTraits& traits) {
    for (int i = 0; i < 4; ++i) {
      if (!call.has(i)) continue;
      const DType dtype = call.in(i).dtype;
      if (i < 3 ? !gpu_storable(dtype) : !gpu_loadable(dtype)) {
        return kernel_refusal(name, call.in(i).text(), "q, k and v in f32, f16 or bf16, a bias of a plain type");
      }
      CHIARO_TRY(gpu_offsets_fit(name, call.in(i)));
    }
    if (call.in(1).dtype != call.in(2).dtype) return kernel_refusal(name, call.in(2).text(), "k and v of one type");
    if (traits.gpu.max_threads < 256) return kernel_refusal(name, call.in(0).text(), "threadgroups of 256");
    return gpu_offsets_fit(name, call.out());
  }

  static AttentionGpuArgs arguments(const TypedCall<Attention>& call) {
    const TensorDesc &q = call.in(0), &k = call.in(1), &v = call.in(2), &y = call.out();
    AttentionGpuArgs a{};
    a.queries = gpu_u32(q.shape[1]), a.heads = gpu_u32(q.shape[2]), a.size = gpu_u32(q.shape[3]);
    a.keys = gpu_u32(k.shape[1]);
    a.heads_per_key = gpu_u32(q.shape[2] / k.shape[2]);
    a.column_blocks = gpu_u32((q.shape[3] + kColumns - 1) / kColumns);
    a.causal = call.attrs.causal ? 1 : 0;
    a.y_n = gpu_u32(y.strides[0]), a.y_l = gpu_u32(y.strides[1]);
    a.y_h = gpu_u32(y.strides[2]), a.y_d = gpu_u32(y.strides[3]);
    a.q_n = gpu_u32(q.strides[0]), a.q_l = gpu_u32(q.strides[1]);
    a.q_h = gpu_u32(q.strides[2]), a.q_d = gpu_u32(q.strides[3]);
    a.k_n = gpu_u32(k.strides[0]), a.k_l = gpu_u32(k.strides[1]);
    a.k_h = gpu_u32(k.strides[2]), a.k_d = gpu_u32(k.strides[3]);
    a.v_n = gpu_u32(v.strides[0]), a.v_l = gpu_u32(v.strides[1]);
    a.v_h = gpu_u32(v.strides[2]), a.v_d = gpu_u32(v.strides[3]);
    a.bias_type = gpu_type_of(call, 3);
    if (call.has(3)) {
      const TensorDesc bias = broadcast_to(call.in(3), {q.shape[0], q.shape[2], q.shape[1], k.shape[1]});
      a.bias_n = gpu_u32(bias.strides[0]), a.bias_h = gpu_u32(bias.strides[1]);
      a.bias_q = gpu_u32(bias.strides[2]), a.bias_k = gpu_u32(bias.strides[3]);
    }
    a.has_lengths = call.has(4) ? 1 : 0;
    a.lengths_stride = call.has(4) ? gpu_u32(call.in(4).strides[0]) : 0;
    a.scale = static_cast<float>(Attention::scale_of(call.attrs, q.shape[3]));
    return a;
  }

  // One launch, or several over bands of queries where one would take too long.
  static void add_launches(GpuProgram& program, const TypedCall<Attention>& call, const AttentionGpuArgs& a,
                           const DeviceTraits& traits) {
    const int64_t pictures = call.out().shape[0], blocks = (int64_t{a.queries} + kQueries - 1) / kQueries;
    const double flops = 2.0 * kQueries * a.keys * a.size * (a.column_blocks + 1.0) * a.heads *
                         static_cast<double>(pictures);  // of a block of queries
    const double rate = std::max(0.01, traits.gpu.tflops_f32) * 1e12 *
                        (traits.gpu.watchdog_seconds > 0 ? traits.gpu.watchdog_seconds / 8 : 1);
    const int64_t most = std::max<int64_t>(1, static_cast<int64_t>(rate / std::max(flops, 1.0)));
    for (int64_t first = 0; first < blocks; first += most) {
      const int64_t count = std::min(most, blocks - first);
      AttentionGpuArgs args = a;
      args.first_query = gpu_u32(first * kQueries);
      GpuDispatch d = gpu_dispatch("attention_online");
      d.constants = {gpu_type(call.in(0).dtype), gpu_type(call.in(1).dtype), gpu_type(call.in(2).dtype)};
      d.buffers = {gpu_input(call, 0), gpu_input(call, 1), gpu_input(call, 2),
                   gpu_input(call, 3), gpu_input(call, 4), gpu_output(call)};
      d.set_args(args);
      d.groups = {gpu_u32(count), a.heads, gpu_u32(pictures) * a.column_blocks};
      d.threads = 256;
      d.flops = flops * static_cast<double>(count);
      d.bytes = static_cast<double>(call.in(1).dense_bytes() + call.in(2).dense_bytes()) +
                2.0 * static_cast<double>(call.out().dense_bytes()) * static_cast<double>(count) /
                    static_cast<double>(blocks);
      program.add(std::move(d));
    }
  }
};

}  // namespace

Kernels gpu_kernels_attention() {
  return make_kernels<AttentionGpu>();
}

}  // namespace chiaro
